"""Sphinx: ``make docs`` builds the pages from the installed package, without a network."""

import importlib.util
from importlib.metadata import metadata
from pathlib import Path

import treeplex

project = "treeplex"
author = "treeplex contributors"
copyright = "treeplex contributors"
version = release = treeplex.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Notebooks are run when the pages are built, each in a folder of its own; a cell that fails ends the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autosummary_generate = True
autosummary_imported_members = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's parameter lists say the types, with shapes
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False

# A copied example holds what one types: neither prompts nor output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# MathJax and its fonts come from a package, so that pages show formulas without the internet. As an extension
# the package would keep Sphinx from reading pages in parallel.
_mathjax = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent / "static"
mathjax_path = "mathjax/tex-chtml.js"

html_theme = "pydata_sphinx_theme"
html_title = f"treeplex {release}"
# The header stays in one row at 1280 pixels: seven links, the others under "More".
html_theme_options = {"navigation_with_keys": False, "show_prev_next": False, "header_links_before_dropdown": 7}
# The addresses are in pyproject.toml, and nowhere else.
_urls = dict(url.split(", ", 1) for url in metadata("treeplex").get_all("Project-URL", []))
if "Repository" in _urls:
    _link = {"name": "Repository", "url": _urls["Repository"], "icon": "fa-solid fa-code-branch"}
    html_theme_options["icon_links"] = [_link]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
_SINGLE = ("changelog", "cite", "features", "gallery", "install", "limitations", "stability")
html_sidebars = {page: [] for page in _SINGLE}  # sections of one page
html_static_path = ["_static", str(_mathjax)]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_copy_source = False
