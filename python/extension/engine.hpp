// The engine as Python holds it, and its joins, group-bys and plans, to be run, streamed, counted or explained.
#pragma once

#include <nanobind/nanobind.h>

#include "python/extension/tables.hpp"

namespace garuda::python {

struct HeldEngine {
  SharedEngine engine;
};

void bind_engine(nanobind::module_& module);
void bind_queries(nanobind::module_& module);

}  // namespace garuda::python
