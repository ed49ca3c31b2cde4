import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generate

import propriety
from propriety import losses

project = "propriety"
author = "The propriety developers"
copyright = author
version = release = propriety.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "_explorer", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]
nitpicky = False
default_role = "py:obj"

html_theme = "furo"
html_title = f"propriety {release}"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_explorer"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
toc_object_entries = False
# The docs build the same without a network: examples are run, nothing is looked up elsewhere.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "subsection_order": ["../examples/losses", "../examples/linear", "../examples/boosting", "*"],
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 5,
    "image_srcset": ["2x"],
    "reference_url": {"propriety": None},
    "doc_module": ("propriety",),
    "backreferences_dir": None,
    "abort_on_example_error": False,
}


def escape_bars(*args):
    """|v| is an absolute value in the docstrings, not a substitution of reStructuredText."""
    lines = args[-1]
    lines[:] = [line if re.match(r"\s*(>>>|\.\.\. )", line) else line.replace("|", r"\|") for line in lines]


def skip_requests(app, what, name, obj, skip, options):
    """scikit-learn writes these methods for its metadata routing; they are documented there."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def link_families(app, docname, source):
    """`Tailored(cost, focus)` in the text of a written page leads to the page of its family."""
    if app.env.doc2path(docname).suffix != ".md":
        return
    parts = re.split(r"(^```.*?^```)", source[0], flags=re.MULTILINE | re.DOTALL)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(?<!\[)`([A-Z]\w+)(\([^`]*\))?`", _link_family, parts[i])
    source[0] = "".join(parts)


def _link_family(found):
    return f"[{found[0]}](/losses/{found[1]}.rst)" if found[1] in losses.names() else found[0]


def setup(app):
    app.connect("config-inited", lambda app, config: generate.write(Path(app.srcdir)))
    app.connect("autodoc-skip-member", skip_requests)
    app.connect("source-read", link_families)
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True}
