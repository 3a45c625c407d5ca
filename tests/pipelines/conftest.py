from tests.client.live import bootstrap, new_name
from tests.pipelines.runner import runner

__all__ = ["bootstrap", "new_name", "runner"]
