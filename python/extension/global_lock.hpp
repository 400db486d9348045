// Python's global lock, taken and given back by threads that outlive the interpreter.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <utility>

namespace garuda::python {

/// Runs `call`, which takes the global lock or runs Python. An interpreter that ends stops the other threads there;
/// until Python 3.14 by pthread_exit, which unwinds all frames, and destructors and handlers of C++ in its way end the
/// process by std::terminate. Such a thread waits here for the end of the process, as it does in Python 3.14.
template <class Call>
decltype(auto) in_python(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (abi::__forced_unwind const&) {
    while (true) ::pause();
  }
}

/// Gives the global lock back and takes it again. Requires: this thread holds it.
class Unlocked {
 public:
  Unlocked() noexcept : state_(PyEval_SaveThread()) {}
  Unlocked(Unlocked const&) = delete;
  Unlocked& operator=(Unlocked const&) = delete;
  ~Unlocked() {
    in_python([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

/// Takes the global lock, on any thread, with it or without.
class Locked {
 public:
  Locked() noexcept : is_held_(Py_IsInitialized() != 0) {
    if (is_held_) state_ = in_python([] { return PyGILState_Ensure(); });
  }
  Locked(Locked const&) = delete;
  Locked& operator=(Locked const&) = delete;
  ~Locked() {
    if (is_held_) PyGILState_Release(state_);
  }

  /// False: the interpreter is at its end, and nothing of it may be touched.
  explicit operator bool() const noexcept { return is_held_; }

 private:
  bool is_held_;
  PyGILState_STATE state_ = PyGILState_LOCKED;
};

}  // namespace garuda::python
