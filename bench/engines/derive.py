"""Computes `GroupBy.derived` from an Arrow table of keys and aggregates, for engines that give no more."""

from __future__ import annotations

import engines.engine
import pyarrow as pa
import pyarrow.compute as pc


def unnest(groups: pa.Table, keys: list[str], name: str) -> pa.Table:
    lists = groups[name].combine_chunks()
    rows = groups.select(keys).take(pc.list_parent_indices(lists))
    return rows.append_column(name, pc.list_flatten(lists))


def derived(groups: pa.Table, group_by: engines.engine.GroupBy) -> pa.Table:
    """`groups` has the keys and the aggregates, by their names."""
    if group_by.derived is None:
        return groups
    keys, names = list(group_by.keys), [aggregate.name for aggregate in group_by.aggregates]
    if group_by.derived == "unnest":
        return unnest(groups, keys, names[0])
    values = [groups[name] for name in names]
    result = pc.subtract(*values) if group_by.derived == "difference" else pc.multiply(values[0], values[0])
    return groups.select(keys).append_column(group_by.derived, result)
