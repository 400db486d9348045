"""Plans of Substrait for the tests, made by DataFusion of SQL over tables without rows."""

from __future__ import annotations

import datafusion
import datafusion.substrait
import pyarrow as pa


def substrait(query: str, schemas: dict[str, pa.Schema]) -> bytes:
    """The optimised plan of a query."""
    context = datafusion.SessionContext()
    for name, schema in schemas.items():
        context.register_record_batches(name, [[pa.RecordBatch.from_pylist([], schema=schema)]])
    plan = context.sql(query).optimized_logical_plan()
    return bytes(datafusion.substrait.Producer.to_substrait_plan(plan, context).encode())
