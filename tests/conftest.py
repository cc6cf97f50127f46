"""What several test files share: the widgets' script, run without a page."""

import pytest
from script import caller


@pytest.fixture(scope="session")
def javascript(tmp_path_factory):
    """A function that sends lists of calls to Node and returns the lists of answers."""
    return caller(tmp_path_factory.mktemp("widget_parity"))
