// A message of protobuf as its fields, by their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "garuda/error.hpp"

namespace garuda::substrait {

template <class Number>
concept FieldNumber = std::is_enum_v<Number> && std::is_same_v<std::underlying_type_t<Number>, std::uint32_t>;

/// The fields of a message, which view its bytes. A field that is not there is 0, empty, or a message without fields,
/// as protobuf has it; of a field that is there several times, but may be there once, the last one counts.
/// Errors: invalid_input for a field of another form than is asked for.
class Message {
 public:
  Message() = default;
  /// Errors: invalid_input for bytes that are no message.
  static Result<Message> parse(std::string_view bytes);

  template <FieldNumber Number>
  bool has(Number number) const {
    return find(static_cast<std::uint32_t>(number)) != nullptr;
  }
  /// An integer, a boolean, an enumeration, or the bits of a float.
  template <FieldNumber Number>
  Result<std::uint64_t> integer(Number number) const {
    return integer_at(static_cast<std::uint32_t>(number));
  }
  /// A string or bytes.
  template <FieldNumber Number>
  Result<std::string_view> bytes(Number number) const {
    return bytes_at(static_cast<std::uint32_t>(number));
  }
  template <FieldNumber Number>
  Result<Message> message(Number number) const {
    GARUDA_TRY_ASSIGN(auto const bytes, bytes_at(static_cast<std::uint32_t>(number)));
    return parse(bytes);
  }
  /// All strings, or the bytes of all messages, of a repeated field.
  template <FieldNumber Number>
  Result<std::vector<std::string_view>> all_bytes(Number number) const {
    return all_bytes_at(static_cast<std::uint32_t>(number));
  }
  template <FieldNumber Number>
  Result<std::vector<Message>> messages(Number number) const {
    return messages_at(static_cast<std::uint32_t>(number));
  }
  /// All integers of a repeated field, packed or not.
  template <FieldNumber Number>
  Result<std::vector<std::uint64_t>> integers(Number number) const {
    return integers_at(static_cast<std::uint32_t>(number));
  }

  /// The number of the first field; 0: there is none.
  std::uint32_t first_number() const noexcept { return fields_.empty() ? 0 : fields_.front().number; }

 private:
  struct Field {
    std::uint32_t number = 0;
    bool is_bytes = false;
    std::uint64_t integer = 0;
    std::string_view bytes;
  };

  Field const* find(std::uint32_t number) const noexcept;
  Result<std::uint64_t> integer_at(std::uint32_t number) const;
  Result<std::string_view> bytes_at(std::uint32_t number) const;
  Result<std::vector<std::string_view>> all_bytes_at(std::uint32_t number) const;
  Result<std::vector<Message>> messages_at(std::uint32_t number) const;
  Result<std::vector<std::uint64_t>> integers_at(std::uint32_t number) const;

  std::vector<Field> fields_;
};

}  // namespace garuda::substrait
