"""Checks the order of rooms: includes and forward declarations go down only, includes through public headers.

cmake/rooms.txt holds a line a room, lowest first: name, folder, then the headers that other rooms may include, by their
path within the folder (`*`: all of them). A file belongs to the room with the longest folder that holds it. What
include/garuda holds is the public API and may be included by all. Tests may include everything.

    python3 cmake/check_rooms.py [ROOT]      exit status 1 and a line a breach; 2 when rooms.txt itself is wrong
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SUFFIXES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}
# A namespace block of a room that holds no braces declares names and defines none.
DECLARED = re.compile(r"^namespace garuda::(\w+) \{([^{}]*)\}", re.MULTILINE)
FORWARD = re.compile(r"\b(?:struct|class|enum(?: class)?) (\w+)[^;=()]*;")
ROOM_OF_NAMESPACE = {"vk": "vk_runtime"}  # the others are named as their rooms
MOST_FILES = 25  # headers and sources of one level of a folder


@dataclass(frozen=True)
class Room:
    name: str
    folder: str
    rank: int
    public: tuple[str, ...]

    def exports(self, path: str) -> bool:
        return any(fnmatch(path.removeprefix(self.folder + "/"), pattern) for pattern in self.public)


def read_rooms(text: str) -> list[Room]:
    rooms = []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) < 2:
            raise ValueError(f"a room has a name and a folder: {line}")
        rooms.append(Room(words[0], words[1], len(rooms), tuple(words[2:])))
    for what in ("name", "folder"):
        values = [getattr(room, what) for room in rooms]
        if len(set(values)) != len(values):
            raise ValueError(f"two rooms have the same {what}")
    return rooms


def room_of(rooms: list[Room], path: str) -> Room | None:
    inside = [room for room in rooms if path.startswith(room.folder + "/")]
    return max(inside, key=lambda room: len(room.folder), default=None)


def breaches(rooms: list[Room], files: dict[str, str]) -> list[str]:
    """`files`: text of each source by its path from the root."""
    found = []
    for path, text in sorted(files.items()):
        room = room_of(rooms, path)
        if room is None:
            found.append(f"{path}: belongs to no room of cmake/rooms.txt")
            continue
        for included in INCLUDE.findall(text):
            other = room_of(rooms, included)
            if other is None or other == room:
                continue
            if other.rank > room.rank:
                found.append(f"{path}: {room.name} is below {other.name}, so it cannot include {included}")
            elif not other.exports(included):
                found.append(f"{path}: {included} is not a public header of {other.name}")
    return found


def climbing(rooms: list[Room], files: dict[str, str]) -> list[str]:
    """Forward declarations of what belongs to a higher room: they hide an include that would climb."""
    ranks = {room.name: room.rank for room in rooms}
    found = []
    for path, text in sorted(files.items()):
        room = room_of(rooms, path)
        for namespace, body in DECLARED.findall(text):
            above = ROOM_OF_NAMESPACE.get(namespace, namespace)
            if room is not None and ranks.get(above, -1) > room.rank:
                found += [f"{path}: {room.name} is below {above}, so it cannot declare {name}"
                          for name in FORWARD.findall(body)]
    return found


def crowded(files: dict[str, str]) -> list[str]:
    levels: dict[str, int] = {}
    for path in files:
        levels[path.rpartition("/")[0]] = levels.get(path.rpartition("/")[0], 0) + 1
    return [f"{level}: {count} files on one level, at most {MOST_FILES}" for level, count in sorted(levels.items())
            if count > MOST_FILES]


def unused(rooms: list[Room], files: dict[str, str]) -> list[str]:
    """Public headers that no other room includes, or that are not there."""
    included: dict[str, set[str]] = {}
    for path, text in files.items():
        room = room_of(rooms, path)
        for name in INCLUDE.findall(text):
            if room is not None:
                included.setdefault(name, set()).add(room.name)
    found = []
    for room in rooms:
        for pattern in room.public:
            if "*" in pattern:
                continue
            header = f"{room.folder}/{pattern}"
            if header not in files:
                found.append(f"{header}: a public header of {room.name} that is not there")
            elif not included.get(header, set()) - {room.name}:
                found.append(f"{header}: a public header of {room.name} that no other room includes")
    return found


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    try:
        rooms = read_rooms((root / "cmake" / "rooms.txt").read_text())
    except (OSError, ValueError) as error:
        print(f"rooms.txt: {error}", file=sys.stderr)
        return 2
    tops = {room.folder.split("/")[0] for room in rooms}
    files = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for top in tops
        for path in (root / top).rglob("*")
        if path.suffix in SUFFIXES and path.is_file()
    }
    found = breaches(rooms, files) + climbing(rooms, files) + unused(rooms, files) + crowded(files)
    print("\n".join(found) if found else f"{len(rooms)} rooms, {len(files)} files: includes and declarations go down only")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
