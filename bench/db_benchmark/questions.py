"""The questions of db-benchmark: ten group-bys of G1's x, five joins of J1's x with its smaller tables."""

from __future__ import annotations

from db_benchmark import tables
from engines import engine
from engines.engine import Question


def group_by(name: str, title: str, keys: str, aggregates: str, derived: str | None = None) -> Question:
    return Question(name, f"{name} {title}", engine.group_by(keys, aggregates, "x", derived), tables.G1)


def join(name: str, title: str, right: str, key: str, how: str = "inner") -> Question:
    return Question(name, f"{name} {title}", engine.Join("x", right, ((key, key),), how), tables.J1)


QUESTIONS = [
    group_by("g1", "sum v1 by id1", "id1", "sum:v1"),
    group_by("g2", "sum v1 by id1, id2", "id1 id2", "sum:v1"),
    group_by("g3", "sum v1, mean v3 by id3", "id3", "sum:v1 mean:v3"),
    group_by("g4", "mean v1, v2, v3 by id4", "id4", "mean:v1 mean:v2 mean:v3"),
    group_by("g5", "sum v1, v2, v3 by id6", "id6", "sum:v1 sum:v2 sum:v3"),
    group_by("g6", "median, sd v3 by id4, id5", "id4 id5", "median:v3 std:v3"),
    group_by("g7", "max v1 - min v2 by id3", "id3", "max:v1 min:v2", "difference"),
    group_by("g8", "two largest v3 by id6", "id6", "max_n:v3", "unnest"),
    group_by("g9", "corr(v1, v2)^2 by id2, id4", "id2 id4", "corr:v1:v2", "square"),
    group_by("g10", "sum v3, count by id1 … id6", "id1 id2 id3 id4 id5 id6", "sum:v3 count"),
    join("j1", "small inner on int", "small", "id1"),
    join("j2", "medium inner on int", "medium", "id2"),
    join("j3", "medium left on int", "medium", "id2", "left"),
    join("j4", "medium inner on string", "medium", "id5"),
    join("j5", "big inner on int", "big", "id3"),
]
