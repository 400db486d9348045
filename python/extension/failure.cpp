#include "python/extension/failure.hpp"

#include <pthread.h>

#include <atomic>
#include <exception>

#include "core/shortage.hpp"

namespace nb = nanobind;

namespace garuda::python {
namespace {

std::atomic<bool> used{false};
std::atomic<bool> forked{false};

void translate(std::exception_ptr const& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (Failure const& failure) {
    nb::list causes;
    for (auto const& cause : failure.error.causes()) causes.append(nb::str(cause.c_str(), cause.size()));
    auto const& message = failure.error.message();
    auto const raised =
        nb::module_::import_("garuda.errors")
            .attr("of_kind")(nb::str(failure.kind.c_str()), nb::str(message.c_str(), message.size()), causes);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  }
}

}  // namespace

void raise(Error error) {
  std::string kind(to_string(error.code()));
  throw Failure{std::move(kind), std::move(error)};
}

void raise(std::string kind, Error error) { throw Failure{std::move(kind), std::move(error)}; }

void raise_thrown(std::exception_ptr const& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (Failure const&) {
    throw;
  } catch (std::exception const& exception) {
    if (auto shortage = current_shortage()) raise(*std::move(shortage));
    raise("internal", Error(ErrorCode::usage, exception.what()));
  }
}

void require_not_forked() {
  if (!forked) return;
  raise("forked", Error(ErrorCode::usage,
                        "this process was forked from one that had used garuda, whose threads and devices did not come "
                        "along: start processes by spawn or forkserver, or fork before the first use"));
}

void mark_used() { used = true; }

bool is_forked() noexcept { return forked; }

void register_failures() {
  nb::register_exception_translator(translate);
  pthread_atfork(nullptr, nullptr, [] { forked = used.load(); });
}

}  // namespace garuda::python
