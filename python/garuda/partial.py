"""Group-bys in two steps: of parts of a table, wherever they are, then of what these gave.

Sums, means and what else is made of sums travel as exact states, columns of bytes that merge without rounding, so the
result has the same bits for any parts in any order.

>>> import garuda
>>> from garuda.partial import Partial
>>> parts = [{"k": ["x", "y"], "v": [1e300, 2.0]}, {"k": ["x", "x"], "v": [1.0, -1e300]}]
>>> both = Partial("k", total=("v", "sum"), n="count")
>>> groups = both.merge([both.group(part) for part in parts])
>>> both.finish(groups, parts[0]).to_pydict()
{'k': ['x', 'y'], 'total': [1.0, 2.0], 'n': [3, 1]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Mapping

from . import _core
from ._arguments import Aggregate, Names, aggregate_text, names_of, require, wrong
from .engine import Engine, default_engine
from .errors import UsageError
from .table import Data, Table, table, table_of

if TYPE_CHECKING:
    import pyarrow

_STATES = {"sum", "mean", "var", "var_pop", "std", "std_pop", "covar", "covar_pop", "corr", "product"}
_MERGED = {"count": "sum", "min": "min", "max": "max", "bool_and": "bool_and", "bool_or": "bool_or"}
_NUMBER = " row of partial groups"
_ALL = 2**31 - 1
_ORDERED = {"first", "last", "any"}


def refuse_order(named: Mapping[str, Aggregate], rows: str) -> None:
    """Raises UsageError for aggregates that go by the order of `rows`, which have none."""
    if any(given[1] in _ORDERED for given in named.values() if not isinstance(given, str)):
        raise UsageError(f"rows of {rows} are in no order that first, last and any could go by") from None


class Partial:
    """A group-by that is done in parts.

    Args:
        keys: names of the key columns.
        named: `name=(column, function)`, as `garuda.GroupBy.agg` has them; functions are sum, mean, var, std, covar, corr,
            their `_pop` forms, product, count, min, max, bool_and and bool_or. Others need all rows of a group in one
            place: UsageError.
    """

    def __init__(self, keys: Names, **named: Aggregate) -> None:
        self.keys = names_of("keys", keys)
        self.named = named
        for name, given in named.items():
            aggregate_text(name, given)  # raises what is wrong with it
        functions = {name: given if isinstance(given, str) else given[1] for name, given in named.items()}
        for name, function in functions.items():
            if function not in _STATES and function not in _MERGED:
                raise UsageError(f"{function} needs all rows of a group in one place: {name}")
        self._states = [name for name, function in functions.items() if function in _STATES]
        self._others = {name: function for name, function in functions.items() if function not in _STATES}

    def group(self, data: Data, *, engine: Engine = default_engine) -> Table:
        """The groups of a part: keys, then for each aggregate its value or state."""
        require("engine", engine, Engine, "a garuda.Engine")
        groups = engine.group_by(data, self.keys, ordered=True)
        return Table(groups._query((), self.named, self._states).run(None))

    def merge(self, parts: Iterable[Data], *, engine: Engine = default_engine) -> Table:
        """The groups of all parts, of which some may be merged ones themselves; at least one."""
        import numpy
        import pyarrow

        require("engine", engine, Engine, "a garuda.Engine")
        if isinstance(parts, (str, bytes, Mapping, Table)) or not hasattr(parts, "__iter__"):
            raise wrong("parts", "tables that group or merge gave", parts)
        given = [_arrow("parts", part) for part in parts]
        if not given:
            raise wrong("parts", "one table at least", given)
        rows = pyarrow.concat_tables(given, promote_options="permissive")
        numbered = rows.append_column(_NUMBER, pyarrow.array(numpy.arange(rows.num_rows)))
        aggregates: dict[str, Any] = {name: (name, _MERGED[function]) for name, function in self._others.items()}
        groups = engine.group_by(numbered, self.keys, ordered=True)
        aggregates[_NUMBER] = (_NUMBER, "min_n", _ALL)
        merged = groups.agg(**aggregates).to_arrow()
        if self._states:
            lists = merged.column(_NUMBER).combine_chunks()
            of_row = numpy.empty(rows.num_rows, numpy.uint64)
            of_row[lists.flatten().to_numpy()] = numpy.repeat(
                numpy.arange(merged.num_rows, dtype=numpy.uint64), lists.value_lengths().to_numpy()
            )
            held = _core.merge_states(table(rows.select(self._states))._held, of_row.tobytes(), merged.num_rows)
            for name, column in zip(self._states, Table(held).to_arrow().columns):
                merged = merged.append_column(name, column)
        return table(merged.select([*self.keys, *self.named]))

    def finish(self, groups: Data, rows: Data) -> Table:
        """The values of groups that are merged. `rows`: any part, or its columns without rows, for the types."""
        import pyarrow

        made = _arrow("groups", groups)
        if self._states:
            texts = ",".join(aggregate_text(name, self.named[name]) for name in self._states)
            types = table_of("rows", rows)._held
            held = _core.values_of_states(table(made.select(self._states))._held, types, texts)
            values = dict(zip(self._states, Table(held).to_arrow().columns))
            made = pyarrow.table({name: values.get(name, made.column(name)) for name in made.column_names})
        return table(made)


def _arrow(argument: str, data: Data) -> pyarrow.Table:
    import pyarrow

    return data if isinstance(data, pyarrow.Table) else table_of(argument, data).to_arrow()
