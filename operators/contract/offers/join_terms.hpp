// Terms that the costs of joins have in common, whatever the path: rows, and what making the result takes on the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "operators/contract/offers/costs.hpp"
#include "operators/contract/offers/shapes.hpp"

namespace garuda::contract {

/// Submissions of a slice, each waited for before the host goes on: sizes are known exactly before they are used.
inline constexpr double kJoinSubmissions = 6;
/// Cost of a column with nulls or variable widths, which is gathered batch by batch, in plain columns.
inline constexpr double kGathererShare = 2;

inline double rows_of(JoinShape const& shape) { return static_cast<double>(shape.left.rows + shape.right.rows); }
inline double build_rows(JoinShape const& shape) { return static_cast<double>(shape.smaller_rows()); }
inline double probe_rows(JoinShape const& shape) { return static_cast<double>(shape.larger_rows()); }
inline double rows_of(JoinShape const& shape, Side side) { return static_cast<double>(shape.of(side).rows); }
/// The build side unless a path is told: the smaller side, the right one of two equal ones.
inline Side smaller_side(JoinShape const& shape) {
  return shape.left.rows < shape.right.rows ? Side::left : Side::right;
}
inline double distinct_of(JoinShape const& shape, Side side) {
  auto const distinct = shape.of(side).distinct;
  auto const rows = std::max(rows_of(shape, side), 1.0);
  return distinct > 0 ? std::min(distinct, rows) : rows;
}
inline double matches(JoinShape const& shape) { return shape.expected_matches; }
/// Pairs that a path makes: those of the result, or those that a condition is tested on, whatever becomes of them.
inline double pairs_made(JoinShape const& shape) { return std::max(shape.expected_matches, shape.tested_pairs); }
/// Fills in how many rows of each side have a match, given that there are so many pairs.
void estimate_matched(JoinShape& shape, double pairs);
/// Rows of `side` that come without one of the other side; 0 where rows are only counted.
double unmatched_rows(JoinShape const& shape, Side side);
/// Rows of the result.
inline double result_rows(JoinShape const& shape) {
  return matches(shape) + unmatched_rows(shape, Side::left) + unmatched_rows(shape, Side::right);
}
/// Whether it is asked which rows of `side` have a match; that they are counted makes no difference to its price.
inline bool is_marked(JoinShape const& shape, Side side) { return shape.parts.rows(side) != SideRows::none; }
inline double key_bytes(JoinShape const& shape) { return shape.key_bits / 8.0; }
inline double row_id_bytes(JoinShape const& shape) { return static_cast<double>(shape.row_id_bytes()); }
inline double join_row_bytes(JoinShape const& shape) { return key_bytes(shape) + row_id_bytes(shape); }

/// `values` values of `bytes` bytes, taken from anywhere in `source_bytes` bytes.
double taken_ns(double values, double bytes, double source_bytes, rates::HostRates const& host);

/// `values` values of `column`, taken from anywhere in the `rows` rows of its table, 0: about in their order. What is
/// not plain is looked up first, as an offset, a view or a bit, and then taken.
double column_ns(double values, OutputShape const& column, double rows, rates::HostRates const& host);

/// The result's batches, and the last of them, which nothing else runs beside.
double batches_ns(JoinShape const& shape, double batch_rows, rates::HostRates const& host);

/// Rows of the batches that take least time to make, of a few sizes. What memory allows is another matter.
/// `most_rows`: that a batch gets.
std::uint64_t cheapest_chunk(JoinShape const& shape, double most_rows, rates::HostRates const& host);
inline std::uint64_t device_chunk_rows(JoinShape const& shape, rates::HostRates const& host) {
  return cheapest_chunk(shape, matches(shape), host);
}

/// A device's pairs, gathered by the reader: both sides out of order, or the probe side in order.
double consumed_ns(JoinShape const& shape, DeviceCut const& cut, rates::HostRates const& host,
                   bool in_probe_order = false);

/// Unmatched rows are gathered by the reader in the order of their table, with nulls in the other side's columns.
double unmatched_ns(JoinShape const& shape, rates::HostRates const& host);

/// Whether words of a condition's columns move through the partitioning with the keys, or are fetched for every pair:
/// moving one costs a fraction of fetching one from anywhere in a table.
inline bool moves_words(double pairs, double rows) {
  constexpr double kFetchedShare = 4;
  return pairs * kFetchedShare >= rows;
}

/// A condition: its columns become words, and those of the rows of every pair are fetched and compared, by all lanes.
double condition_ns(JoinShape const& shape, rates::HostRates const& host);

/// Marks of the sides that are marked, on a device: a pass over keys that looks up the other side's, and bits down.
double mark_ns(JoinShape const& shape, DeviceCut const& cut, rates::DeviceRates const& rates);

}  // namespace garuda::contract
