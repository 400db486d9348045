#include "operators/device/strings/string_numbers.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "operators/compute/primitives/compute_context.hpp"

namespace garuda::device {
namespace {

constexpr char const* kNumberStringsPhase = "number strings";
/// Kept with a table: of its own columns, and with those of some others.
constexpr std::size_t kMostKeptNumbers = 8;

bool are_of(StringNumbers const& numbers, Strings const& strings) {
  auto const is_same = [](std::weak_ptr<StringBytes const> const& kept,
                          std::shared_ptr<StringBytes const> const& piece) { return kept.lock() == piece; };
  return std::ranges::equal(numbers.pieces, strings.pieces, is_same);
}

bool are_gone(StringNumbers const& numbers) {
  return std::ranges::any_of(numbers.pieces, [](auto const& piece) { return piece.expired(); });
}

/// The numbers that are kept, or nothing. Called with the mutex locked.
std::shared_ptr<StringNumbers const> find_numbers(DeviceTableState const& table, Strings const& strings) {
  auto const& list = table.known.strings;
  auto const found = std::ranges::find_if(list, [&](auto const& kept) { return are_of(*kept, strings); });
  return found == list.end() ? nullptr : *found;
}

Result<std::shared_ptr<StringNumbers const>> make_numbers(DeviceTableState const& table, Strings const& strings,
                                                          std::uint32_t hash_bits, Control const& control) {
  auto const& open = table.device.open;
  auto numbers = std::make_shared<StringNumbers>();
  numbers->pieces.assign(strings.pieces.begin(), strings.pieces.end());
  auto const bytes = std::max<std::uint64_t>(strings.count(), 1) * sizeof(std::uint32_t);
  numbers->arena = column_arena(*open.device, bytes);
  GARUDA_TRY_ASSIGN(numbers->numbers, numbers->arena->buffer({bytes, vk::MemoryUse::device, 0, "numbers of strings"}));
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(open, control));
  auto& context = lane->context();
  GARUDA_TRY_ASSIGN(auto const view, view_of(context, strings, strings));
  GARUDA_TRY(compute::record_string_numbers(context, view, hash_bits, numbers->numbers));
  GARUDA_TRY(context.order_all(kNumberStringsPhase));
  GARUDA_TRY(context.submissions().finish());
  return numbers;
}

}  // namespace

Result<std::shared_ptr<StringNumbers const>> string_numbers(DeviceTableState const& table, Strings const& strings,
                                                            Control const& control, std::uint32_t hash_bits) {
  std::lock_guard const lock(table.known.mutex);
  auto& list = table.known.strings;
  if (auto const kept = find_numbers(table, strings)) return kept;
  std::erase_if(list, [](auto const& kept) { return are_gone(*kept); });
  GARUDA_TRY_ASSIGN(auto made, make_numbers(table, strings, hash_bits, control));
  if (list.size() == kMostKeptNumbers) list.erase(list.begin());
  return list.emplace_back(std::move(made));
}

compute::NumberedStrings numbered_strings(DeviceTableState const& table, Strings const& strings, std::uint64_t rows) {
  compute::NumberedStrings numbered;
  numbered.strings = static_cast<double>(strings.count());
  for (auto const& piece : strings.pieces) numbered.bytes += static_cast<double>(piece->num_bytes);
  numbered.rows = static_cast<double>(rows);
  std::lock_guard const lock(table.known.mutex);
  numbered.are_kept = find_numbers(table, strings) != nullptr;
  return numbered;
}

compute::NumberedStrings numbered_strings(DeviceTableState const& table, std::size_t column) {
  auto const& strings = table.columns[column].strings;
  if (strings == nullptr) return {};
  return numbered_strings(table, *strings, table.rows);
}

Result<StringKeyColumn> string_keys(compute::ComputeContext& context, DeviceTableState const& table, std::size_t column,
                                    Strings const& among, std::shared_ptr<StringNumbers const> numbers) {
  StringKeyColumn made;
  made.numbers = std::move(numbers);
  GARUDA_TRY_ASSIGN(made.strings, view_of(context, *table.columns[column].strings, among));
  GARUDA_TRY_ASSIGN(made.keys, context.device_buffer(table.rows * sizeof(std::uint32_t), "string keys"));
  GARUDA_TRY(compute::record_string_keys(context, made.strings,
                                         {table.rows, table.words(column).address, made.numbers->numbers.address()},
                                         made.keys.address()));
  return made;
}

}  // namespace garuda::device
