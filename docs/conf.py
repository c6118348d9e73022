"""Sphinx: ``make docs`` builds the pages from the installed package."""

import treeplex

project = "treeplex"
author = "treeplex contributors"
copyright = "treeplex contributors"
version = release = treeplex.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's parameter lists say the types, with shapes
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = f"treeplex {release}"
html_theme_options = {"navigation_with_keys": False, "show_prev_next": False}
html_show_sourcelink = False
