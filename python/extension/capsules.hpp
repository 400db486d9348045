// The Arrow PyCapsule interface, and columns made of Python's buffers.
#pragma once

#include <nanobind/nanobind.h>

#include "garuda/arrow_abi.h"
#include "garuda/control.hpp"
#include "garuda/table.hpp"

namespace garuda::python {

/// A capsule `arrow_array_stream`, which releases the stream unless a consumer took it.
nanobind::capsule to_capsule(ArrowArrayStream stream);
/// A capsule `arrow_schema` of a struct.
nanobind::capsule schema_capsule(Schema const& schema);

/// Moves out what a capsule holds, which is then marked released. Throws TypeError for another capsule, ValueError for
/// one that is empty.
ArrowArrayStream take_stream(nanobind::handle capsule);
ArrowSchema take_schema(nanobind::handle capsule);
ArrowArray take_array(nanobind::handle capsule);

/// `stream`, which fails between two batches once `control` is cancelled.
ArrowArrayStream until_cancelled(ArrowArrayStream stream, Control control);

/// A record batch over Python's buffers, not copied; the array keeps them. `columns`: (name, format of the Arrow C
/// interface, null count, [buffer or None, …]) each. Requires: buffers are as long as `rows` and the format say.
std::pair<ArrowArray, ArrowSchema> of_buffers(nanobind::list const& columns, std::int64_t rows);

}  // namespace garuda::python
