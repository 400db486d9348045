// The engine as Python holds it.
#pragma once

#include <nanobind/nanobind.h>

#include "python/extension/tables.hpp"

namespace garuda::python {

struct HeldEngine {
  SharedEngine engine;
};

void bind_engine(nanobind::module_& module);

}  // namespace garuda::python
