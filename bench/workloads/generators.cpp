#include "bench/workloads/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "bench/workloads/random.hpp"
#include "bench/workloads/table_builder.hpp"
#include "bench/workloads/words.hpp"

namespace garuda::bench {
namespace {

constexpr std::array kKeyTypes{Word<KeyType>{"i32", KeyType::i32}, Word<KeyType>{"i64", KeyType::i64}};
constexpr std::array kConditions{Word<Matching>{"less", Matching::less}, Word<Matching>{"band", Matching::band}};

// The purpose of a sequence of random numbers.
enum class Purpose : std::uint8_t { left_order, matched, draw, miss, rank_order, spread, left_payload, right_payload };

std::uint64_t seed_for(std::uint64_t seed, Purpose purpose) noexcept {
  return derive_seed(seed, static_cast<std::uint64_t>(purpose));
}

template <class T>
Result<void> add_payload(TableBuilder& builder, char prefix, std::uint32_t num_columns, std::uint64_t seed) {
  for (std::uint32_t column = 0; column < num_columns; ++column) {
    auto const column_seed = derive_seed(seed, column);
    GARUDA_TRY(builder.add_column<T>(fmt::format("{}{}", prefix, column),
                                     [=](std::uint64_t row) { return static_cast<T>(mix64(column_seed + row)); }));
  }
  return {};
}

Result<void> add_payload(TableBuilder& builder, KeyType type, char prefix, std::uint32_t num_columns,
                         std::uint64_t seed) {
  return type == KeyType::i32 ? add_payload<std::int32_t>(builder, prefix, num_columns, seed)
                              : add_payload<std::int64_t>(builder, prefix, num_columns, seed);
}

// Maps key indices 0…d-1 (on the left side) and d…2d-1 (nowhere on it) to key values.
template <class T>
class KeyValues {
 public:
  KeyValues(KeyDistribution distribution, std::uint64_t seed)
      : spread_(distribution.kind == KeyDistribution::Kind::uniform), seed_(seed_for(seed, Purpose::spread)) {}

  T operator()(std::uint64_t index) const noexcept {
    if (!spread_) return static_cast<T>(index);
    if constexpr (sizeof(T) == 4) return static_cast<T>(mix32(static_cast<std::uint32_t>(index ^ seed_)));
    return static_cast<T>(mix64(index ^ seed_));
  }

 private:
  bool spread_;
  std::uint64_t seed_;
};

// Right rows that have a left key.
std::uint64_t matched_rows(JoinWorkload const& workload) noexcept {
  if (workload.rows_left == 0) return 0;
  return static_cast<std::uint64_t>(std::llround(workload.match_ratio * static_cast<double>(workload.rows_right)));
}

// Draws the key index of each right row.
class RightKeys {
 public:
  RightKeys(JoinWorkload const& workload, std::uint64_t num_keys)
      : distribution_(workload.distribution),
        num_keys_(num_keys),
        num_matched_(matched_rows(workload)),
        matched_(workload.rows_right, seed_for(workload.seed, Purpose::matched)),
        rank_order_(num_keys, seed_for(workload.seed, Purpose::rank_order)),
        draw_seed_(seed_for(workload.seed, Purpose::draw)),
        miss_seed_(seed_for(workload.seed, Purpose::miss)) {
    if (num_keys > 0) zipf_.emplace(num_keys, distribution_.exponent);
  }

  std::uint64_t operator()(std::uint64_t row) const noexcept {
    auto const position = matched_(row);
    if (position >= num_matched_)
      return num_keys_ + RowRandom(miss_seed_, row).next_below(std::max<std::uint64_t>(num_keys_, 1));
    RowRandom random(draw_seed_, row);
    switch (distribution_.kind) {
      // Positions are a shuffle of the right rows, so that their remainders are each key equally often, shuffled.
      case KeyDistribution::Kind::dense:
        return position % num_keys_;
      case KeyDistribution::Kind::uniform:
        return random.next_below(num_keys_);
      case KeyDistribution::Kind::zipf:
        break;
    }
    return rank_order_((*zipf_)(random));
  }

 private:
  KeyDistribution distribution_;
  std::uint64_t num_keys_;
  std::uint64_t num_matched_;
  Permutation matched_;
  Permutation rank_order_;
  std::uint64_t draw_seed_;
  std::uint64_t miss_seed_;
  std::optional<ZipfSampler> zipf_;
};

template <class T>
Result<JoinTables> generate(JoinWorkload const& workload, std::uint64_t num_keys) {
  KeyValues<T> const key_values(workload.distribution, workload.seed);
  auto const payload_type = workload.payload_type.value_or(workload.key_type);
  Permutation const left_order(workload.rows_left, seed_for(workload.seed, Purpose::left_order));
  TableBuilder left(workload.rows_left);
  GARUDA_TRY(left.add_column<T>("key", [&](std::uint64_t row) { return key_values(left_order(row) % num_keys); }));
  GARUDA_TRY(
      add_payload(left, payload_type, 'l', workload.payload_left, seed_for(workload.seed, Purpose::left_payload)));

  RightKeys const right_keys(workload, num_keys);
  TableBuilder right(workload.rows_right);
  GARUDA_TRY(right.add_column<T>("key", [&](std::uint64_t row) { return key_values(right_keys(row)); }));
  GARUDA_TRY(
      add_payload(right, payload_type, 'r', workload.payload_right, seed_for(workload.seed, Purpose::right_payload)));
  return JoinTables{left.finish(), right.finish()};
}

std::uint64_t num_keys_of(JoinWorkload const& workload) noexcept {
  return (workload.rows_left + workload.multiplicity - 1) / workload.multiplicity;
}

}  // namespace

Result<void> check(JoinWorkload const& workload) {
  if (workload.multiplicity == 0) return fail(ErrorCode::usage, "multiplicity out of range [1, 2^40]: 0");
  if (!(workload.match_ratio >= 0 && workload.match_ratio <= 1))
    return fail(ErrorCode::usage, fmt::format("match ratio out of range [0, 1]: {}", workload.match_ratio));
  auto const num_keys = num_keys_of(workload);
  auto const num_indices =
      num_keys + (workload.match_ratio < 1 || num_keys == 0 ? std::max<std::uint64_t>(num_keys, 1) : 0);
  auto const is_spread = workload.distribution.kind == KeyDistribution::Kind::uniform;
  auto const num_values = std::uint64_t{1} << (is_spread ? 32 : 31);
  if (workload.key_type == KeyType::i32 && num_indices > num_values)
    return fail(ErrorCode::usage, fmt::format("more keys than i32 has values, use --key-type i64: {}", num_indices));
  return {};
}

Result<KeyDistribution> parse_key_distribution(std::string_view text) {
  using Kind = KeyDistribution::Kind;
  if (text == "dense") return KeyDistribution{Kind::dense, 0};
  if (text == "uniform") return KeyDistribution{Kind::uniform, 0};
  constexpr std::string_view kZipf = "zipf:";
  if (text.substr(0, kZipf.size()) == kZipf) {
    auto const number = text.substr(kZipf.size());
    double exponent = 0;
    auto const [end, error] = std::from_chars(number.data(), number.data() + number.size(), exponent);
    if (error == std::errc{} && end == number.data() + number.size() && std::isfinite(exponent) && exponent >= 0)
      return KeyDistribution{Kind::zipf, exponent};
  }
  return fail(ErrorCode::usage,
              fmt::format("unknown distribution (allowed: dense, uniform, zipf:Z with Z >= 0): '{}'", text));
}

std::string to_string(KeyDistribution const& distribution) {
  using Kind = KeyDistribution::Kind;
  if (distribution.kind == Kind::zipf) return fmt::format("zipf:{}", distribution.exponent);
  return distribution.kind == Kind::dense ? "dense" : "uniform";
}

Result<KeyType> parse_key_type(std::string_view text) { return parse_word("key type", kKeyTypes, text); }
std::string_view to_string(KeyType type) noexcept { return word_of(kKeyTypes, type); }

std::uint64_t max_result_rows(JoinWorkload const& workload) noexcept {
  auto const matched = matched_rows(workload);
  auto const most = std::min(workload.multiplicity, workload.rows_left);
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return most != 0 && matched > kMost / most ? kMost : matched * most;
}

Result<JoinTables> generate_join_tables(JoinWorkload const& workload) {
  GARUDA_TRY(check(workload));
  auto const num_keys = num_keys_of(workload);
  return workload.key_type == KeyType::i32 ? generate<std::int32_t>(workload, num_keys)
                                           : generate<std::int64_t>(workload, num_keys);
}

Result<Matching> parse_condition(std::string_view text) { return parse_word("condition", kConditions, text); }
std::string_view to_string(Matching condition) noexcept { return word_of(kConditions, condition); }

Result<JoinTables> generate_non_equi_tables(NonEquiWorkload const& workload) {
  constexpr std::uint64_t kValues = std::uint64_t{1} << 31;
  auto const [rows_left, rows_right] = std::pair(workload.rows_left, workload.rows_right);
  if (rows_left == 0 || rows_left > kValues || rows_right == 0 || rows_right > kValues)
    return fail(ErrorCode::usage, fmt::format("rows out of range [1, 2^31]: {}, {}", rows_left, rows_right));
  auto const value = [&](std::uint64_t side, std::uint64_t row) {
    return static_cast<std::int32_t>(RowRandom(2 * workload.seed + side, row).next_below(kValues));
  };
  auto const number = [](std::uint64_t row) { return static_cast<std::int32_t>(row); };
  auto const width = std::max<std::int64_t>(static_cast<std::int64_t>(kValues / rows_right) - 1, 0);
  TableBuilder left(rows_left);
  GARUDA_TRY(left.add_column<std::int32_t>("a", [&](std::uint64_t row) { return value(0, row); }));
  GARUDA_TRY(left.add_column<std::int32_t>("x", number));
  TableBuilder right(rows_right);
  GARUDA_TRY(right.add_column<std::int32_t>("lo", [&](std::uint64_t row) { return value(1, row); }));
  GARUDA_TRY(right.add_column<std::int32_t>("hi", [&](std::uint64_t row) {
    return static_cast<std::int32_t>(std::min<std::int64_t>(value(1, row) + width, kValues - 1));
  }));
  GARUDA_TRY(right.add_column<std::int32_t>("y", number));
  return JoinTables{left.finish(), right.finish()};
}

}  // namespace garuda::bench
