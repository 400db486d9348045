// The values behind cells, for the oracle: their numbers, their order, their canonical text.
#pragma once

#include <cstdint>
#include <string>

#include "garuda/types.hpp"

namespace garuda::reference {

bool is_float(TypeId id);
bool is_decimal(TypeId id);
bool is_text(DataType const& type);

/// A float from the bits that its cell shows.
double float_of(TypeId id, std::string const& cell);

/// The lowest bits, four a digit, in lower case.
std::string hexadecimal(std::uint64_t bits, int digits);

/// The cell of a float64 in canonical form.
std::string cell_of(double value);

/// The canonical form of a cell of any type: +0.0, one NaN.
std::string canonical(DataType const& type, std::string const& cell);

/// Whether value a comes before value b.
bool is_less(DataType const& type, std::string const& a, std::string const& b);

double power_of_ten(std::int32_t exponent);

}  // namespace garuda::reference
