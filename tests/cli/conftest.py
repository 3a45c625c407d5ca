from tests.cli.commands import run
from tests.client.live import bootstrap, new_name, three_brokers

__all__ = ["bootstrap", "new_name", "run", "three_brokers"]
