// Parts that functions of the C ABI share: the objects behind its pointers, translations of errors and options.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/shortage.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/garuda.h"
#include "operators/engine/rows.hpp"

namespace garuda::c_api {

using SharedRows = std::shared_ptr<engine::Rows>;

/// A query, and what it reads.
struct Query {
  std::vector<SharedRows> inputs;
  std::unique_ptr<QueryResult> rows;  // last: views the inputs
  bool is_taken = false;
};

}  // namespace garuda::c_api

struct garuda_engine {
  garuda::Engine engine;
};

struct garuda_cancellation {
  std::atomic<bool> cancelled{false};
};

struct garuda_table {
  garuda::c_api::SharedRows rows;
  std::optional<garuda::JoinBuild> build{};  // of the rows
};

struct garuda_result {
  std::shared_ptr<garuda::c_api::Query> query;
};

namespace garuda::c_api {

/// The codes of C are those of C++, in their order, behind GARUDA_OK.
inline int code_of(ErrorCode code) { return static_cast<int>(code) + 1; }
static_assert(GARUDA_USAGE == static_cast<int>(ErrorCode::usage) + 1);
static_assert(GARUDA_CANCELLED == static_cast<int>(ErrorCode::cancelled) + 1);

inline int report(int code, char const* sentence, char** error) {
  if (error != nullptr) *error = ::strdup(sentence);
  return code;
}

/// Runs `call`, a Result<void>, and turns every way it can fail into a code and a sentence. No exception passes.
template <class Call>
int translated(char** error, Call call) {
  try {
    Result<void> const result = call();
    if (result) return GARUDA_OK;
    return report(code_of(result.error().code()), result.error().describe().c_str(), error);
  } catch (std::exception const& exception) {
    if (auto const shortage = current_shortage())
      return report(code_of(shortage->code()), shortage->describe().c_str(), error);
    return report(GARUDA_LOGIC_ERROR, exception.what(), error);
  }
}

template <class Options>
Result<void> check_size(Options const& options, std::string_view name) {
  if (options.size == sizeof(Options)) return {};
  return fail(ErrorCode::usage,
              fmt::format("size of the {} options must be {}: {}", name, sizeof(Options), options.size));
}

/// `parse`: of the operator's tuning.
template <class Options, class Parse>
Result<Options> options_of(garuda_run_options const* run, Parse parse) {
  Options options;
  if (run == nullptr) return options;
  GARUDA_TRY(check_size(*run, "run"));
  GARUDA_TRY_ASSIGN(options.path, parse_path(run->path == nullptr ? "auto" : run->path));
  GARUDA_TRY_ASSIGN(options.tuning, parse(run->tuning == nullptr ? "" : run->tuning));
  if (run->device != nullptr) options.device = run->device;
  options.memory_limit_bytes = run->memory_limit_bytes;
  options.device_memory_limit_bytes = run->device_memory_limit_bytes;
  options.threads = run->threads;
  options.allow_cuda = run->allow_cuda != 0;
  if (run->cancellation != nullptr) options.control.cancelled = &run->cancellation->cancelled;
  if (run->on_progress != nullptr)
    options.control.on_progress = [report = run->on_progress,
                                   context = run->progress_context](Progress const& progress) {
      std::string const phase(progress.phase);
      garuda_progress const said{phase.c_str(), progress.done, progress.total, progress.rows_out};
      report(context, &said);
    };
  return options;
}

inline garuda_result* new_result(std::vector<SharedRows> inputs, std::unique_ptr<QueryResult> rows) {
  return new garuda_result{std::make_shared<Query>(std::move(inputs), std::move(rows))};
}

/// Writes `text` where the caller wants it.
inline Result<void> give(std::string const& text, char** out) {
  GARUDA_EXPECTS(out != nullptr);
  *out = ::strdup(text.c_str());
  if (*out == nullptr) throw std::bad_alloc();
  return {};
}

}  // namespace garuda::c_api
