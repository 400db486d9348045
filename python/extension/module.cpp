// The extension garuda._core: the C++ API for the Python of python/garuda, and no more.
#include <nanobind/nanobind.h>

#include <stdexcept>

#include "python/extension/engine.hpp"
#include "python/extension/failure.hpp"
#include "python/extension/tables.hpp"
#include "python/extension/watch.hpp"

NB_MODULE(_core, module) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0)
    throw std::runtime_error("garuda cannot be imported in a subinterpreter: use it in the main one");
  garuda::python::register_failures();
  module.attr("version") = GARUDA_VERSION;
  module.attr("small_rows") = garuda::python::kSmallRows;
  module.def("wait_for_left_calls", garuda::python::wait_for_left_calls);
  nanobind::module_::import_("atexit").attr("register")(module.attr("wait_for_left_calls"));
  garuda::python::end_calls_with_interpreter();
  garuda::python::bind_tables(module);
  garuda::python::bind_engine(module);
  garuda::python::bind_queries(module);
}
