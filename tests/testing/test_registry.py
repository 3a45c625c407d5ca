"""The registry for users' tests."""

import json
import urllib.request

import pytest

from gralha.testing import GralhaCluster


def subjects(url: str) -> list[str]:
    with urllib.request.urlopen(f"{url}/subjects") as answer:
        found: list[str] = json.load(answer)
        return found


def register(url: str, subject: str) -> None:
    body = json.dumps({"schema": '"string"'}).encode()
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/subjects/{subject}/versions", body, headers)):
        pass


def test_a_cluster_with_a_registry_keeps_its_schemas_over_a_restart() -> None:
    with GralhaCluster(registry=True) as cluster:
        register(cluster.registry_url, "before")
        cluster.restart()
        register(cluster.registry_url, "after")
        assert subjects(cluster.registry_url) == ["after", "before"]


def test_a_cluster_without_a_registry_says_how_to_get_one() -> None:
    cluster = GralhaCluster()
    with pytest.raises(ValueError, match=r"GralhaCluster\(registry=True\)"):
        _ = cluster.registry_url
    cluster.close()


def test_the_fixture(gralha_registry: str) -> None:
    register(gralha_registry, "of-the-fixture")
    assert "of-the-fixture" in subjects(gralha_registry)


def test_a_registry_beside_a_secured_cluster() -> None:
    with GralhaCluster(security="sasl_ssl", registry=True) as cluster:
        register(cluster.registry_url, "secured")
        assert subjects(cluster.registry_url) == ["secured"]
