"""The list of erasures outside the database: what it accepts, and what it finds to be changed, lost or not writable."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.encryption import key, ring
from wattgate.db.personal_data.erasure_list import (
    MAX_LINE_BYTES,
    ErasureList,
    ErasureListError,
    ListedErasure,
    ListedTenancy,
    encode_list,
)

KEYS = ring(key("a"))
ERASED_AT = datetime(2026, 3, 1, 12, 30, 0, 250_000, tzinfo=UTC)


def erasure(number: int) -> ListedErasure:
    return ListedErasure("app", f"user-{number}", ERASED_AT + timedelta(days=number))


ERASURES = [erasure(number) for number in range(4)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A list of four erasures."""
    written = tmp_path / "erasures"
    listed = ErasureList(written, KEYS)
    listed.append(ERASURES[:2])
    listed.append(ERASURES[1:])
    return written


def test_list_has_each_erasure_once_in_order_and_only_its_owner_reads_it(file: Path) -> None:
    assert list(ErasureList(file, KEYS).read().erasures.values()) == ERASURES
    assert file.read_bytes().count(b"\n") == len(ERASURES)
    assert file.stat().st_mode & 0o777 == 0o600
    assert b"".join(encode_list(ERASURES, KEYS)) == file.read_bytes()


def _swap(lines: list[bytes]) -> list[bytes]:
    return [lines[1], lines[0], *lines[2:]]


CHANGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a line is removed": lambda lines: [lines[0], *lines[2:]],
    "the first line is removed": lambda lines: lines[1:],
    "two lines change places": _swap,
    "a line is there twice": lambda lines: [lines[0], *lines],
    "a user is replaced": lambda lines: [lines[0].replace(b"user-0", b"user-9"), *lines[1:]],
    "the time is changed": lambda lines: [*lines[:3], lines[3].replace(b"2026-03-04", b"2026-03-05")],
    "a line is forged": lambda lines: [*lines, lines[3].replace(b"user-3", b"user-9")],
    "a line has another member": lambda lines: [*lines, lines[3].replace(b"{", b'{"name":"Ada",')],
    "a line is no JSON": lambda lines: [*lines, b"user-9\n"],
    "a line is empty": lambda lines: [*lines[:2], b"\n", *lines[2:]],
    "a line is too long": lambda lines: [*lines, b"x" * (MAX_LINE_BYTES + 1) + b"\n"],
    "a line with an unknown key is put between": lambda lines: [
        *lines[:2],
        lines[2].replace(b'"a.', b'"z.').replace(b"user-2", b"user-9"),
        *lines[2:],
    ],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_list_is_refused_and_not_written_to(file: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    changed = b"".join(change(file.read_bytes().splitlines(keepends=True)))
    file.write_bytes(changed)
    listed = ErasureList(file, KEYS)
    with pytest.raises(ErasureListError, match=r"was changed: line \d .*Restore the newest copy"):
        listed.read()
    with pytest.raises(ErasureListError, match="was changed"):
        listed.append([erasure(7)])
    assert file.read_bytes() == changed


@pytest.mark.parametrize("length", [1, 60, -2])
def test_an_incomplete_last_line_is_left_out_and_replaced(file: Path, length: int) -> None:
    """A writer that died has reported no erasure as done, so its line is added again."""
    whole = file.read_bytes()
    ErasureList(file, KEYS).append([erasure(7)])
    line = file.read_bytes()[len(whole) :]
    file.write_bytes(whole + line[:length])
    assert list(ErasureList(file, KEYS).read().erasures.values()) == ERASURES
    ErasureList(file, KEYS).append([erasure(7), erasure(8)])
    assert list(ErasureList(file, KEYS).read().erasures.values()) == [*ERASURES, erasure(7), erasure(8)]


def test_a_last_line_without_its_end_counts(file: Path) -> None:
    file.write_bytes(file.read_bytes().removesuffix(b"\n"))
    assert list(ErasureList(file, KEYS).read().erasures.values()) == ERASURES
    ErasureList(file, KEYS).append([erasure(7)])
    assert list(ErasureList(file, KEYS).read().erasures.values()) == [*ERASURES, erasure(7)]


def test_a_new_key_signs_all_lines_so_that_the_old_one_can_be_removed(file: Path) -> None:
    new, both = ring(key("b", "y")), ring(key("b", "y"), key("a"))
    with pytest.raises(ErasureListError, match=r"needs the key a.*If it is the list of another gateway"):
        ErasureList(file, new).read()
    before = file.read_bytes()
    ErasureList(file, both).sign_again()
    assert file.read_bytes().startswith(before)
    assert list(ErasureList(file, new).read().erasures.values()) == ERASURES
    ErasureList(file, new).append([erasure(7)])
    assert list(ErasureList(file, new).read().erasures.values()) == [*ERASURES, erasure(7)]
    file.write_bytes(file.read_bytes().replace(b"user-1", b"user-9"))
    with pytest.raises(ErasureListError, match="was changed"):
        ErasureList(file, new).read()
    ErasureList(file.with_name("none"), both).sign_again()
    assert not file.with_name("none").exists()


def test_the_list_of_another_gateway_is_refused(file: Path) -> None:
    with pytest.raises(ErasureListError, match=r"needs the key a, .* \(its keys: b\)"):
        ErasureList(file, ring(key("b"))).read()
    with pytest.raises(ErasureListError, match="line 1 has a wrong signature"):
        ErasureList(file, ring(key("a", "y"))).read()


def test_a_copy_is_read_from_a_pipe(file: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, file.read_bytes())
    os.close(writing)
    try:
        assert list(ErasureList(Path(f"/dev/fd/{reading}"), KEYS).read().erasures.values()) == ERASURES
    finally:
        os.close(reading)


def tenancy(number: int, *, ended: bool = False, changes: int = 0) -> ListedTenancy:
    ended_at = ERASED_AT + timedelta(days=9) if ended else None
    changed_at = ERASED_AT + timedelta(seconds=changes)
    return ListedTenancy("app", f"tenancy-{number}", f"user-{number}", "1200000000001", ERASED_AT, ended_at, changed_at)


def test_the_last_state_of_a_tenancy_counts_in_any_order(file: Path) -> None:
    """Two gateways may add the states of a tenancy in the wrong order, or one that a list has already."""
    first, last = tenancy(1), tenancy(1, ended=True, changes=1)
    one, other = ErasureList(file, KEYS), ErasureList(file, KEYS)
    one.append([first, tenancy(2)])
    other.append([last])
    one.append([first, erasure(0), tenancy(2)])
    one.append([erasure(7)])
    content = ErasureList(file, KEYS).read()
    assert dict(content.tenancies) == {"tenancy-1": last, "tenancy-2": tenancy(2)}
    assert list(content.erasures.values()) == [*ERASURES, erasure(7)]
    ErasureList(file, KEYS).append([first, last, tenancy(2), erasure(7)])
    assert ErasureList(file, KEYS).read() == content
    assert b"".join(encode_list([*ERASURES, first], KEYS)).splitlines()[-1] in file.read_bytes()
    known_to_the_first_release = {"signature", "application", "user", "erasedAt"}
    assert set().union(*map(json.loads, file.read_bytes().splitlines())) == known_to_the_first_release


def test_a_changed_tenancy_is_found_also_by_the_process_that_wrote_it(file: Path) -> None:
    """A process verifies the lines since its last write. A list that another one has replaced is read again."""
    listed, before = ErasureList(file, KEYS), file.read_bytes()
    listed.append([tenancy(1, ended=True)])
    whole = file.read_bytes()
    for old, new in ((b"2026-03-10", b"2026-03-11"), (b"user-1", b"user-9"), (b"1200000000001", b"1200000000009")):
        file.write_bytes(before + whole[len(before) :].replace(old, new))
        with pytest.raises(ErasureListError, match="line 5 has a wrong signature"):
            listed.append([tenancy(2)])
    file.write_bytes(whole[:-9])
    listed.append([tenancy(1, ended=True), tenancy(2)])
    assert list(ErasureList(file, KEYS).read().tenancies) == ["tenancy-1", "tenancy-2"]
    file.write_bytes(b"".join(encode_list([erasure(number) for number in range(90)], KEYS)))
    listed.append([tenancy(3)])
    assert list(ErasureList(file, KEYS).read().tenancies) == ["tenancy-3"]


def test_two_processes_that_add_at_once_wait_for_each_other(file: Path) -> None:
    """Each opens the file by itself, as two processes do."""
    threads = [
        threading.Thread(target=ErasureList(file, KEYS).append, args=([erasure(10 + number), erasure(50)],))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    users = [listed.user_id for listed in ErasureList(file, KEYS).read().erasures.values()]
    assert sorted(users) == sorted([f"user-{number}" for number in (*range(4), *range(10, 18), 50)])
    assert file.read_bytes().count(b"\n") == len(users)


def test_the_wait_for_another_process_has_an_end(file: Path) -> None:
    with ErasureList(file, KEYS)._locked(), pytest.raises(ErasureListError, match="Erasures wait until it can"):
        ErasureList(file, KEYS, lock_seconds=0).append([erasure(7)])
    assert list(ErasureList(file, KEYS).read().erasures.values()) == ERASURES


ADD_TO_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from tests.db.test_erasure_list import KEYS, ErasureList, erasure
file = Path(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = file.stat().st_size + 50
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
ErasureList(file, KEYS).append([erasure(7)])
"""


def test_a_full_disk_leaves_the_list_as_it_was(file: Path) -> None:
    """A limit of the size of files acts as a full disk: the system accepts the beginning of a line only."""
    whole = file.read_bytes()
    command = [sys.executable, "-c", ADD_TO_A_FULL_DISK, str(file)]
    added = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert re.search(r"Nothing can be added to the erasure list .*: File too large", added.stderr), added.stderr
    assert file.read_bytes() == whole


def test_a_file_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    for path, text in ((tmp_path / "none" / "list", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(ErasureListError, match=f"{text}.*Check the folder"):
            ErasureList(path, KEYS).append([erasure(7)])
        with pytest.raises(ErasureListError, match=f"cannot be read: {text}.*Check WATTGATE_ERASURE_LIST"):
            ErasureList(path, KEYS).read()
    assert "does not exist: create it" in str(ErasureList(tmp_path / "none" / "list", KEYS).find_write_problem())
    assert ErasureList(tmp_path / "list", KEYS).find_write_problem() is None
    assert os.listdir(tmp_path) == []
