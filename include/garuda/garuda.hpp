// Everything: `#include <garuda/garuda.hpp>`.
#pragma once

#include "garuda/arrow_c.hpp"
#include "garuda/calibration.hpp"
#include "garuda/condition.hpp"
#include "garuda/device_table.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/group_states.hpp"
#include "garuda/join.hpp"
#include "garuda/pinned_buffer.hpp"
#include "garuda/stored_table.hpp"
#include "garuda/table.hpp"
