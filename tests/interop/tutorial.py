"""What the tutorials run beside the agent: the shop, and the configuration of the node."""

import contextlib
import sys

from python_harness import ROOT, running

TUTORIAL = ROOT / "docs/tutorial"


@contextlib.contextmanager
def running_shop():
    """Yields the base URL, and a function that stops the shop and returns the payments that it made."""
    with running(sys.executable, TUTORIAL / "shop.py", 0) as (process, url):
        def payments():
            process.kill()
            return process.stdout.read().splitlines()

        yield url, payments


def node_flags(directory, shop, harness):
    """The tutorial's configuration, with the addresses of this run."""
    text = (TUTORIAL / "node.toml").read_text()
    for placeholder, address in (("http://127.0.0.1:9100", shop), ("127.0.0.1:9000", harness)):
        assert placeholder in text
        text = text.replace(placeholder, address)
    config = directory / "node.toml"
    config.write_text(text)
    return "--config", str(config)
