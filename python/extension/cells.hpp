// Single values as Python's objects, for what is shown and for small tables.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "garuda/table.hpp"

namespace garuda::python {

/// The value at a row: None, bool, int, float, str, bytes; those of decimals, intervals and float16 as their bytes,
/// dates and times as their numbers, and Ellipsis for what is nested: garuda/values.py makes more of these. Requires:
/// the row exists, in memory that the host can read.
nanobind::object cell(ArrayView const& array, DataType const& type, std::int64_t row);

}  // namespace garuda::python
