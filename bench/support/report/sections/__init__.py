"""A module here is a section of the report. It has NAME, TITLE and ORDER; `groups(options)`, the runs whose times are
compared with each other; and `blocks(results)`, the plots and tables of the page. `blocks` returns nothing where nothing
was measured, and the page leaves the section out."""
import importlib
import pkgutil


def load_all():
    """The sections in the order of the page."""
    names = [found.name for found in pkgutil.iter_modules(__path__)]
    return sorted((importlib.import_module(f"{__name__}.{name}") for name in names), key=lambda section: section.ORDER)
