#include "operators/substrait/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

namespace garuda::substrait {
namespace {

tl::unexpected<Error> not_a_message(std::string_view what) {
  return fail(ErrorCode::invalid_input, fmt::format("the plan is no message of protobuf: {}", what));
}

tl::unexpected<Error> wrong_form(std::uint32_t number) {
  return not_a_message(fmt::format("field {} has another form than Substrait gives it", number));
}

}  // namespace

Result<Message> Message::parse(std::string_view bytes) {
  Message message;
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      Field field{reader.tag(), false, 0, {}};
      switch (reader.wire_type()) {
        case protozero::pbf_wire_type::varint:
          field.integer = reader.get_uint64();
          break;
        case protozero::pbf_wire_type::fixed64:
          field.integer = reader.get_fixed64();
          break;
        case protozero::pbf_wire_type::fixed32:
          field.integer = reader.get_fixed32();
          break;
        case protozero::pbf_wire_type::length_delimited: {
          auto const view = reader.get_view();
          field.is_bytes = true;
          field.bytes = {view.data(), view.size()};
          break;
        }
        default:
          return not_a_message("a field has an unknown form");
      }
      message.fields_.push_back(field);
    }
  } catch (protozero::exception const& error) {
    return not_a_message(error.what());
  }
  return message;
}

Message::Field const* Message::find(std::uint32_t number) const noexcept {
  auto const found = std::find_if(fields_.rbegin(), fields_.rend(), [&](Field const& f) { return f.number == number; });
  return found == fields_.rend() ? nullptr : &*found;
}

Result<std::uint64_t> Message::integer_at(std::uint32_t number) const {
  auto const* const field = find(number);
  if (field == nullptr) return 0;
  if (field->is_bytes) return wrong_form(number);
  return field->integer;
}

Result<std::string_view> Message::bytes_at(std::uint32_t number) const {
  auto const* const field = find(number);
  if (field == nullptr) return std::string_view{};
  if (!field->is_bytes) return wrong_form(number);
  return field->bytes;
}

Result<std::vector<std::string_view>> Message::all_bytes_at(std::uint32_t number) const {
  std::vector<std::string_view> all;
  for (auto const& field : fields_) {
    if (field.number != number) continue;
    if (!field.is_bytes) return wrong_form(number);
    all.push_back(field.bytes);
  }
  return all;
}

Result<std::vector<Message>> Message::messages_at(std::uint32_t number) const {
  GARUDA_TRY_ASSIGN(auto const all, all_bytes_at(number));
  std::vector<Message> messages;
  for (auto const bytes : all) {
    GARUDA_TRY_ASSIGN(auto message, parse(bytes));
    messages.push_back(std::move(message));
  }
  return messages;
}

Result<std::vector<std::uint64_t>> Message::integers_at(std::uint32_t number) const {
  std::vector<std::uint64_t> integers;
  for (auto const& field : fields_) {
    if (field.number != number) continue;
    if (!field.is_bytes) {
      integers.push_back(field.integer);
      continue;
    }
    try {
      auto const* at = field.bytes.data();
      auto const* const end = at + field.bytes.size();
      while (at != end) integers.push_back(protozero::decode_varint(&at, end));
    } catch (protozero::exception const& error) {
      return not_a_message(error.what());
    }
  }
  return integers;
}

}  // namespace garuda::substrait
