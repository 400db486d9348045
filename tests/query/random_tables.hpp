// Random tables of the types that queries compute with, whose values repeat so that keys meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda::testing {

/// Random decisions of one case.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return random_() % end; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  template <class T>
  T const& of(std::vector<T> const& values) {
    return values[below(values.size())];
  }

 private:
  std::mt19937_64 random_;
};

/// Types of columns, each as often as it is drawn.
std::vector<DataType> const& column_types();

/// Values of a type, as they are stored; a double of floats. Extremes come seldom.
std::int64_t random_integer(DataType const& type, Draw& draw);
double random_float(Draw& draw);
std::string random_text(Draw& draw);

/// A table of 3 to 7 columns PREFIX0, PREFIX1, … in up to three batches, among them empty ones and slices.
Table random_table(std::string const& prefix, std::size_t rows, Draw& draw);

}  // namespace garuda::testing
