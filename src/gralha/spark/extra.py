"""The command that installs the extra `spark` from where Gralha itself came: a file, or a folder.

Gralha is in no package index, so its name alone is not enough. pip notes the address of what it installs in
direct_url.json (PEP 610).
"""

import json
from importlib import metadata
from typing import Final
from urllib.parse import unquote, urlsplit

PACKAGE: Final = "gralha"
ANY_FILE: Final = "file://FOLDER/gralha-VERSION.whl"


def install_command() -> str:
    """The command as a person can paste it. If pip has noted no address, the person fills in the file."""
    try:
        noted = metadata.distribution(PACKAGE).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        noted = None
    address = json.loads(noted) if noted else {}
    url = address.get("url", ANY_FILE)
    if address.get("dir_info", {}).get("editable"):
        return f'pip install --editable "{unquote(urlsplit(url).path)}[spark]"'
    return f'pip install "gralha[spark] @ {url}"'
