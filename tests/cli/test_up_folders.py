"""The data folder of `gralha up`: the number of brokers that it was created for."""

import shutil
from pathlib import Path

import pytest

from gralha.broker.offline import read_identities
from gralha.cli.program import CommandError
from gralha.cli.up_folders import check_number, check_place, earlier_settings, folder_for, prepare
from gralha.cli.up_settings import one_of
from gralha.protocol.properties import properties_text


def cluster_ids(data: Path) -> set[str]:
    identities = read_identities(map(str, data.glob("broker-*"))).values()
    assert all(identities)
    return {identity.cluster_id for identity in identities if identity}


def write_settings(data: Path, brokers: int) -> None:
    (data / "broker-1.properties").write_text(properties_text(one_of(1, brokers, "localhost", 20_000, data)))


def test_a_new_folder_serves_any_number(tmp_path: Path) -> None:
    for brokers in (1, 3):
        check_number(tmp_path / "new", brokers)


@pytest.mark.parametrize(("made_for", "asked"), [(1, 3), (3, 1), (3, 2), (3, 5)])
def test_a_folder_serves_the_number_it_was_made_for(tmp_path: Path, made_for: int, asked: int) -> None:
    prepare(tmp_path, made_for)
    check_number(tmp_path, made_for)
    with pytest.raises(CommandError, match=rf"Run .*gralha up --brokers {made_for} --data {tmp_path}, or"):
        check_number(tmp_path, asked)


def test_settings_tell_of_folders_that_were_lost(tmp_path: Path) -> None:
    prepare(tmp_path, 3)
    write_settings(tmp_path, 3)
    for number in (2, 3):
        shutil.rmtree(tmp_path / f"broker-{number}")
    with pytest.raises(CommandError, match="has the data of 3 brokers, and one broker cannot use it"):
        check_number(tmp_path, 1)
    check_number(tmp_path, 3)
    (tmp_path / "broker-1.properties").write_text("controller.quorum.voters=me@here:1\n")
    with pytest.raises(CommandError, match=r"broker-1\.properties does not name the voters"):
        check_number(tmp_path, 3)


def test_the_settings_of_the_last_start_are_known(tmp_path: Path) -> None:
    assert earlier_settings(tmp_path) is None
    prepare(tmp_path, 3)
    assert earlier_settings(tmp_path) == {}
    write_settings(tmp_path, 3)
    assert (earlier_settings(tmp_path) or {})["node.id"] == "1"


def test_a_cluster_has_an_id_of_its_own(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    prepare(one, 3)
    prepare(two, 3)
    (first,), (second,) = cluster_ids(one), cluster_ids(two)
    assert first != second
    shutil.rmtree(one / "broker-2")
    prepare(one, 3)
    assert cluster_ids(one) == {first}


def test_a_folder_of_another_cluster_is_noticed(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    prepare(one, 3)
    prepare(two, 3)
    shutil.rmtree(one / "broker-3")
    shutil.copytree(two / "broker-3", one / "broker-3")
    with pytest.raises(CommandError, match=r"broker-1 belongs to cluster .*, but .*/broker-3 to cluster"):
        prepare(one, 3)


def test_each_number_has_a_place_of_its_own_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/share")
    assert [str(folder_for(brokers)) for brokers in (1, 3)] == ["/share/gralha", "/share/gralha/3-brokers"]


def test_a_file_is_no_place_for_data(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for data in (file, file / "below" / "it"):
        with pytest.raises(CommandError) as refused:
            check_place(data)
        assert str(refused.value) == f"--data {data}: {file} is a file. Name a folder"


def test_a_folder_that_must_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The tests may run as root, who may write everywhere.
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    with pytest.raises(CommandError, match=f"--data {tmp_path}/new: you may not write in {tmp_path}. Name"):
        check_place(tmp_path / "new")


def test_the_path_of_the_data_folder_must_not_have_a_comma(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="must not have a comma"):
        check_place(tmp_path / "a,b")
