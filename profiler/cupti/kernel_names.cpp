#include "profiler/cupti/kernel_names.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace headroom::profiler::cupti {
namespace {

/// Names of nested templates can be very long. Longer symbols are truncated, not demangled.
constexpr size_t kMostSymbolBytes = 16384;

std::string demangled(const std::string& symbol) {
  if (symbol.size() >= kMostSymbolBytes || symbol.compare(0, 2, "_Z") != 0) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name != nullptr ? name.get() : symbol;
}

constexpr std::string_view kNoName = "(anonymous namespace)", kOperator = "operator";

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

/// True if the word `operator` begins at `at`, not within a longer word.
bool is_operator(std::string_view name, size_t at) {
  const bool within =
      at > 0 && (std::isalnum(static_cast<unsigned char>(name[at - 1])) || name[at - 1] == '_');
  return !within && begins(name.substr(at), kOperator);
}

/// Qualified function name: a demangled name without result type, template arguments and parameters.
std::string essence(std::string_view name) {
  std::string kept;
  int templates = 0, lambda = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = name.substr(i);
    const char c = name[i];
    if (templates > 0) {
      if (c == '<') ++templates;
      // The > of -> does not close a template.
      if (c == '>' && name[i - 1] != '-') --templates;
      continue;
    }
    if (lambda > 0 || c == '{') {
      lambda += (c == '{') - (c == '}');
      kept += c;
      continue;
    }
    if (begins(rest, kNoName)) {
      kept += kNoName;
      i += kNoName.size() - 1;
    } else if (is_operator(name, i)) {
      // An operator's name ends at its parameters, and may itself be brackets.
      size_t end = kOperator.size();
      if (begins(rest.substr(end), "()")) end += 2;
      while (end < rest.size() && std::strchr("<>=-+*/%^&|~!,[]", rest[end]) != nullptr) ++end;
      kept += rest.substr(0, end);
      i += end - 1;
    } else if (c == '<') {
      ++templates;
    } else if (c == '(') {
      break;
    } else if (c == ' ') {
      kept.clear();  // drops the result type
    } else {
      kept += c;
    }
  }
  return kept;
}

}  // namespace

std::string short_kernel_name(const char* symbol) {
  if (symbol == nullptr || *symbol == '\0') return "kernel";
  const std::string whole(symbol, strnlen(symbol, kMostSymbolBytes));
  const std::string full = demangled(whole);
  // C names are not mangled and stay unchanged.
  std::string name = full == whole ? whole : essence(full);
  if (name.empty()) name = full;
  for (char& c : name)
    if (c < ' ' || c > '~') c = '?';
  constexpr std::string_view kCut = "...";
  if (name.size() > kMostNameBytes) name = name.substr(0, kMostNameBytes - kCut.size()).append(kCut);
  return name;
}

int32_t KernelNames::index_of(const char* symbol) {
  const std::string key(symbol == nullptr ? "" : symbol,
                        symbol == nullptr ? 0 : strnlen(symbol, kMostSymbolBytes));
  const std::lock_guard lock(mutex_);
  const auto found = by_symbol_.find(key);
  if (found != by_symbol_.end()) return found->second;
  const auto next = static_cast<int32_t>(names_.size());
  if (by_symbol_.size() >= most_) {
    if (others_ < 0) {
      names_.push_back("other kernels");
      others_ = next;
    }
    return others_;
  }
  names_.push_back(short_kernel_name(key.c_str()));
  by_symbol_.emplace(key, next);
  return next;
}

std::string KernelNames::at(int32_t index) const {
  const std::lock_guard lock(mutex_);
  return names_.at(static_cast<size_t>(index));
}

}  // namespace headroom::profiler::cupti
