#include "core/shortage.hpp"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace garuda {
namespace {

Error no_thread(char const* why) { return Error(ErrorCode::out_of_memory, why).wrap("no thread can be started"); }

}  // namespace

std::optional<Error> current_shortage() {
  auto const current = std::current_exception();
  if (!current) return std::nullopt;
  try {
    std::rethrow_exception(current);
  } catch (std::bad_alloc const&) {
    return Error(ErrorCode::out_of_memory, "out of host memory");
  } catch (std::system_error const& error) {
    if (error.code() == std::errc::not_enough_memory) return Error(ErrorCode::out_of_memory, "out of host memory");
    if (error.code() == std::errc::resource_unavailable_try_again) return no_thread(error.what());
  } catch (std::runtime_error const& error) {
    // oneTBB keeps no number of what its workers' threads met, so its words are all there is to know it by.
    if (std::string_view(error.what()).starts_with("pthread_create has failed")) return no_thread(error.what());
  } catch (...) {  // a bug: whoever handles it says so
  }
  return std::nullopt;
}

}  // namespace garuda
