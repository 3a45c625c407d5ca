"""The tree of the metadata shell, from images that no test's cluster has."""

from collections import Counter

from gralha.cli.metadata_file import ReadMetadata
from gralha.cli.metadata_tree import tree_of
from gralha.metadata.image import EMPTY_IMAGE


def test_quotas_are_directories_of_entities() -> None:
    image = EMPTY_IMAGE._replace(
        client_quotas={
            (("client-id", "app(1)"), ("user", "alice")): {"producer_byte_rate": 10485760.0},
            (("user", None),): {"request_percentage": 12.5},
            (("ip", "10.0.0.1"),): {"connection_creation_rate": 5.0},
        }
    )
    tree = tree_of(ReadMetadata(image, 0, Counter()))["image"]
    assert isinstance(tree, dict)
    assert tree["clientQuotas"] == {
        r"clientId(app\(1\))_user(alice)": {"producer_byte_rate": "1.048576E7"},
        "user()": {"request_percentage": "12.5"},
        "ip(10.0.0.1)": {"connection_creation_rate": "5.0"},
    }
