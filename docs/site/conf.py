# SPDX-License-Identifier: MIT
"""How Sphinx makes the site of what stage.py has gathered; `./dev docs` calls both."""
import importlib.util
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

project = "locus"
author = "the authors of locus"
version = re.search(r'LOCUS_VERSION_TEXT "([^"]+)"', (ROOT / "include/locus/version.h").read_text()).group(1)
release = version
copyright = f"{author}; MIT licence"  # noqa: A001 (the name is Sphinx's)

extensions = ["myst_parser", "sphinx.ext.autodoc"]
highlight_language = "none"
# `x` in a docstring is code.
default_role = "code"
keep_warnings = True

# Names of headings as GitHub makes them; page: leads to a file that is copied beside the pages.
myst_heading_anchors = 4
myst_url_schemes = {"http": None, "https": None, "mailto": None, "page": {"url": "{{path}}", "title": "{{path}}"}}

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
# What a framework says of a method that it wants is not what the method does.
autodoc_inherit_docstrings = False
# Where a framework is not installed, its names stand for themselves.
autodoc_mock_imports = [name for name in ("torch", "jax", "transformers", "pandas", "matplotlib", "ml_dtypes")
                        if importlib.util.find_spec(name) is None]



def code_in_docstring(app, what, name, obj, options, lines):
    """What is indented behind an empty line of a docstring is code."""
    found = []
    for line in lines:
        if line.startswith("    ") and found and not found[-1].strip() and not "".join(found[-2:]).rstrip().endswith("::"):
            earlier = [one for one in found if one.strip()]
            if not earlier or not earlier[-1].startswith("    "):
                found += ["::", ""]
        found.append(line)
    lines[:] = found


def short_signature(app, what, name, obj, options, signature, returns):
    """Arrays by their name alone."""
    def short(text):
        return text and text.replace("ndarray[tuple[Any, ...], dtype[Any]]", "ndarray").replace("~typing.", "")
    return short(signature), short(returns)


def setup(app):
    app.connect("autodoc-process-docstring", code_in_docstring)
    app.connect("autodoc-process-signature", short_signature)
    return {"parallel_read_safe": True}


html_theme = "furo"
html_title = f"locus {version}"
html_static_path = [str(ROOT / "docs/site/static")]
html_css_files = ["site.css"]
html_extra_path = [str(ROOT / "build/docs/extra")]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"sidebar_hide_name": False}
