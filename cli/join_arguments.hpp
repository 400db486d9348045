// The arguments of `garuda join` and `garuda explain join`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "garuda/error.hpp"
#include "garuda/join.hpp"

namespace garuda::cli {

/// As typed.
struct JoinArguments {
  std::string left;
  std::string right;
  std::string on;
  std::string how = "inner";
  std::string columns;
  std::string where;
  std::string output;
  std::string path = "auto";
  std::string device = "auto";
  std::string tuning;
  std::string memory_limit;
  std::string device_memory_limit;
  std::string stats;
  std::uint32_t threads = 0;
  bool nulls_equal = false;
  bool count = false;
  bool allow_cuda = false;
  bool ordered = false;
  bool quiet = false;
};

enum class StatsFormat : std::uint8_t { none, table, json };

/// What was asked for.
struct JoinRequest {
  std::filesystem::path left;
  std::filesystem::path right;
  JoinSpec spec;
  JoinOptions options;
  std::optional<std::filesystem::path> output;
  StatsFormat stats = StatsFormat::none;
  bool count = false;
  bool quiet = false;
};

/// Declares the options on `app`; `arguments` must outlive the parse.
void add_join_options(CLI::App& app, JoinArguments& arguments);

/// Errors: usage, for values that make no sense and for what this version does not do; no_device, for a path that this
/// build does not have.
Result<JoinRequest> to_request(JoinArguments const& arguments);

}  // namespace garuda::cli
