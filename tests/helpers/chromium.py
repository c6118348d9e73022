"""Opens pages in headless Chromium, where it is installed, and watches what they do."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

EXECUTABLE = os.environ.get("TREEPLEX_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium, or skip the test without it or without playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    if EXECUTABLE is None:
        pytest.skip("needs Chromium")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=EXECUTABLE, args=[*_FLAGS, "--disable-sync"])
        try:
            yield started
        finally:
            started.close()


@contextmanager
def opened(started: Any, path: Path, width: int = 1280, **how: Any) -> Iterator[Any]:
    """Open a file; afterwards nothing may have been logged, raised or asked for but the file itself."""
    context = started.new_context(viewport={"width": width, "height": 900}, **how)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    try:
        page.goto(path.as_uri())
        yield page
        assert said == []
        assert asked == [path.as_uri()]
    finally:
        context.close()


@contextmanager
def visited(started: Any, address: str, width: int = 1280, **how: Any) -> Iterator[Any]:
    """Open a page of a server; afterwards nothing may have been logged, raised or asked for but from that server."""
    context = started.new_context(viewport={"width": width, "height": 900}, **how)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    try:
        page.goto(address)
        yield page
        assert said == []
        assert [url for url in asked if not url.startswith(address.partition("#")[0])] == []
    finally:
        context.close()


def overflows(page: Any) -> bool:
    """Return whether a page scrolls sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
