// Joins, group-bys and plans as Python asks for them, to be run, streamed, counted or explained.
#pragma once

#include <nanobind/nanobind.h>

namespace garuda::python {

void bind_queries(nanobind::module_& module);

}  // namespace garuda::python
