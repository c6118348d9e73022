"""A local server for a solved spot: a page for the browser, and the numbers of one node at a time as JSON.

Requests must contain the token in the address, and address this machine by number or as ``localhost``. Pages of other
sites therefore receive nothing, even if they use a host name that points here.
"""

import secrets
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ....seqform.errors import InvalidGameError, TreeplexError, needing
from ....seqform.interchange.encoding import json_ready
from ....seqform.rules import CHANCE
from .browser import served_page
from .cards import CARDS
from .charts import action_colours
from .places import Place, after
from .solved import SolvedSpot, SpotNode
from .units import CHIPS, Unit

if TYPE_CHECKING:
    from starlette.applications import Starlette

#: The page's names for places without a decision: a card is dealt, the hand is over, or all players are already all-in.
_DEALT, _OVER, _ALL_IN = -1, -2, -3
#: Every response is for this page only and is never cached.
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def application(solved: SolvedSpot, file: str, token: str, hosts: Collection[str], unit: Unit = CHIPS) -> "Starlette":
    """Return the server's application.

    Parameters
    ----------
    solved : SolvedSpot
    file : str
        The name shown on the page.
    token : str
        The first part of the path of every address.
    hosts : collection of str
        Permitted host names of requests, with the port.
    unit : Unit
        The unit of EV at first.

    Raises
    ------
    MissingExtraError
        If starlette is not installed.
    """
    with needing("a server needs starlette", "browse"):
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.requests import Request
        from starlette.responses import HTMLResponse, JSONResponse, Response
        from starlette.routing import Mount, Route

    whole = served_page(solved, file, unit).to_html()

    async def page(request: Request) -> Response:
        return HTMLResponse(whole)

    def answering(record: Callable[[SolvedSpot, Place], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            try:
                found = record(solved, Place.at(solved.spot, request.query_params.get("at", "")))
            except TreeplexError as error:
                return JSONResponse({"error": str(error)}, HTTPStatus.BAD_REQUEST)
            return JSONResponse(json_ready(found))

        return answer

    records = {"steps": steps_record, "node": node_record, "runouts": runouts_record}
    routes = [Route("/", page), *(Route(f"/{name}", answering(record)) for name, record in records.items())]
    guard = Middleware(_Guard, token=token, hosts=frozenset(hosts))
    return Starlette(routes=[Mount(f"/{token}", routes=routes)], middleware=[guard])


class _Guard:
    """A guard that rejects requests without the token or with another host name, and adds headers to all responses."""

    def __init__(self, app: Any, token: str, hosts: Collection[str]) -> None:
        self.app, self.token, self.hosts = app, token.encode(), hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.datastructures import MutableHeaders
        from starlette.responses import PlainTextResponse

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        known = scope["type"] == "http" and self._is_known(scope)
        app = self.app if known else PlainTextResponse("forbidden", HTTPStatus.FORBIDDEN)
        await app(scope, receive, send_guarded)

    def _is_known(self, scope: Any) -> bool:
        given = scope["path"].encode().split(b"/")
        named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        knows = len(given) > 2 and secrets.compare_digest(given[1], self.token)
        return knows and len(named) == 1 and named[0] in self.hosts


# Responses


def steps_record(solved: SolvedSpot, place: Place) -> list[dict[str, Any]]:
    """Return the places on the way to a place, and the place itself, with their movers and action frequencies."""
    return [_step(solved, one) for one in (*(before for before, _ in place.steps), place)]


def _step(solved: SolvedSpot, place: Place) -> dict[str, Any]:
    node = SpotNode(solved, place)
    return {
        "mover": _mover(place),
        "board": [CARDS[card] for card in place.board],
        "pot": place.pot,
        "actions": place.names,
        "colours": list(action_colours(node.actions).values()),
        "shares": list(node.frequencies.values()),
        "winner": 1 - place.folded if place.folded >= 0 else -1,
    }


def _mover(place: Place) -> int:
    if place.player == CHANCE:
        return _ALL_IN if min(place.paid) == place.spot.stack else _DEALT
    return place.player if place.player >= 0 else _OVER


def node_record(solved: SolvedSpot, place: Place) -> dict[str, Any]:
    """Return the numbers of a decision: reach, EV and equity of each hand of both players, and action frequencies."""
    if place.player < 0:
        raise InvalidGameError(f"nobody decides {after(', '.join(place.path))}")
    node = SpotNode(solved, place)
    return {
        "plays": node.strategy.tolist(),
        "evs": node.action_evs.tolist(),
        "ev": [numbers.tolist() for numbers in node.evs],
        "equity": [numbers.tolist() for numbers in node.equities],
        "reach": [numbers.tolist() for numbers in node.reaches],
        "by": [numbers.tolist() for numbers in node.likely],
        "means": _means(node),
    }


def _means(node: SpotNode) -> dict[str, Any]:
    mean = node.averages
    return {name: [mean[f"{seat} {name}"] for seat in node.seats] for name in ("ev", "equity")} | {
        "plays": [mean[action] for action in node.actions]
    }


def runouts_record(solved: SolvedSpot, place: Place) -> dict[str, Any] | None:
    """Return the averages after each possible card at a place; ``None`` if no decision follows any card."""
    if _mover(place) != _DEALT:
        return None
    nodes = [SpotNode(solved, child) for child in place.children]
    return {
        "mover": nodes[0].place.player,
        "actions": nodes[0].actions,
        "colours": list(action_colours(nodes[0].actions).values()),
        "left": 0,
        "cards": [{"card": node.path[-1], "likely": node.probability} | _means(node) for node in nodes],
    }
