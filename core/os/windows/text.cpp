#include "core/os/windows/text.hpp"

#include <system_error>

#include "core/os/windows/windows.hpp"

namespace garuda::os {

std::wstring to_wide(std::string_view utf8) {
  auto const bytes = static_cast<int>(utf8.size());
  std::wstring wide(static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, utf8.data(), bytes, nullptr, 0)), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, utf8.data(), bytes, wide.data(), static_cast<int>(wide.size()));
  return wide;
}

std::string to_utf8(std::wstring_view wide) {
  auto const units = static_cast<int>(wide.size());
  std::string utf8(
      static_cast<std::size_t>(::WideCharToMultiByte(CP_UTF8, 0, wide.data(), units, nullptr, 0, nullptr, nullptr)),
      '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, wide.data(), units, utf8.data(), static_cast<int>(utf8.size()), nullptr, nullptr);
  return utf8;
}

std::string last_error_message() {
  auto message = std::system_category().message(static_cast<int>(::GetLastError()));
  message.erase(message.find_last_not_of(". \r\n") + 1);
  if (!message.empty() && message[0] >= 'A' && message[0] <= 'Z')
    message[0] = static_cast<char>(message[0] - 'A' + 'a');
  return message;
}

}  // namespace garuda::os
