#include "cuda_backend/architectures.hpp"

#include <charconv>
#include <system_error>

namespace garuda::cuda_backend {
namespace {

bool entry_has_code(std::string_view entry, std::uint32_t capability) noexcept {
  std::uint32_t built_for = 0;
  auto const [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), built_for);
  if (error != std::errc{}) return true;
  auto const suffix = entry.substr(static_cast<std::size_t>(end - entry.data()));
  bool const is_near = capability / 10 == built_for / 10 && capability >= built_for;
  bool const is_later = capability >= built_for;
  if (suffix == "-real") return is_near;
  return is_later;
}

}  // namespace

bool has_code_for(std::string_view architectures, std::uint32_t capability) noexcept {
  while (!architectures.empty()) {
    auto const comma = architectures.find(',');
    if (entry_has_code(architectures.substr(0, comma), capability)) return true;
    if (comma == std::string_view::npos) break;
    architectures.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace garuda::cuda_backend
