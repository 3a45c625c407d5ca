from tests.client.live import bootstrap, new_name

__all__ = ["bootstrap", "new_name"]
