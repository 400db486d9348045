// What it takes to number strings on a device.
#pragma once

#include "operators/contract/cost_model.hpp"

namespace garuda::compute {

/// Strings that a query's keys are.
struct NumberedStrings {
  double strings = 0;  ///< of all columns that are compared; 0: keys are no strings
  double bytes = 0;
  double rows = 0;        ///< that get the numbers of their strings
  bool are_kept = false;  ///< the numbers are
};

/// Each string is read, entered into a table, and compared with one that lies elsewhere; each row reads a number.
contract::PhaseCosts string_number_costs(NumberedStrings const& strings, rates::DeviceRates const& rates);

}  // namespace garuda::compute
