#include "gui/model/workspace.h"

#include <QDir>
#include <QFileInfo>
#include <QMetaObject>
#include <algorithm>
#include <iterator>

#include "decoder/base/errors.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/plan/plan_file.h"
#include "decoder/weights/open_model.h"
#include "planner/explain/analyze.h"
#include "planner/explain/remedy.h"

namespace headroom::gui {
namespace {

bool same_kind(const reports::DocumentPtr& a, const reports::DocumentPtr& b) {
  return a->contents.index() == b->contents.index();
}

/// True if the plan's costs can come from this profile. A plan names only the device and the libraries.
bool is_profile_of(const reports::DocumentPtr& profile, const Plan& plan) {
  const auto* measured = profile == nullptr ? nullptr : profile->as<profiler::Profile>();
  return measured != nullptr && !plan.assumed && serves(*measured, plan.request) &&
         measured->device == plan.environment.device && measured->libraries == plan.environment.libraries;
}

PlanningQuestion question_of(const reports::PlanDocument& document) {
  PlanningQuestion question;
  question.request = document.plan.request;
  question.request.model = document.model_argument;
  question.options = planner::options_of(document.plan);
  return question;
}

}  // namespace

std::optional<Request> request_of(const reports::Document& document) {
  Request request;
  if (const auto* frontier = document.as<reports::FrontierDocument>()) {
    request = frontier->request;
  } else if (const auto* recorded = document.as<RecordedTrace>()) {
    request = recorded->trace.request;
  } else if (const auto* profile = document.as<profiler::Profile>()) {
    request = {.model = profile->model, .dtype = profile->dtype, .device = profile->device_kind};
    request.direction = profile->direction;
    if (profile->sizes.empty()) return std::nullopt;
    request.width_pixels = profile->sizes.back().width_pixels;
    request.height_pixels = profile->sizes.back().height_pixels;
  } else {
    return std::nullopt;
  }
  try {
    request.model = find_model(request.model, document.file);
  } catch (const InputError&) {
    return std::nullopt;
  }
  return request;
}

bool serves(const profiler::Profile& profile, const Request& request) {
  return profile.device_kind == request.device && profile.direction == request.direction;
}

Workspace::Workspace(QObject* parent) : QObject(parent) {
  readers_.setMaxThreadCount(1);
}

Workspace::~Workspace() {
  readers_.clear();
  readers_.waitForDone();
}

void Workspace::open(const QStringList& files, const QString& model) {
  for (const QString& name : files) {
    if (++opening_ == 1) Q_EMIT busyChanged(true);
    // Absolute, so that the path stays valid among the recent files, and opening the file again replaces its
    // document.
    const std::filesystem::path file = QFileInfo(name).absoluteFilePath().toStdString();
    readers_.start([this, file, named = model.toStdString()] {
      Read read{file, nullptr, {}, {}};
      try {
        read.document = reports::read_document(file, named);
      } catch (const ModelOfPlan& error) {
        read.failure = QString::fromUtf8(error.what());
        read.plan = QString::fromStdString(file.string());
      } catch (const InputError& error) {
        read.failure = QString::fromUtf8(error.what());
      } catch (const std::exception& error) {
        read.failure = QString::fromStdString(file.string() + ": " + error.what());
      }
      QMetaObject::invokeMethod(
          this, [this, read] { finish(read); }, Qt::QueuedConnection);
    });
  }
}

void Workspace::finish(const Read& read) {
  const auto answered = answered_.extract(read.file);
  if (read.document != nullptr) {
    add(read.document);
    if (!answered.empty()) ask(answered.mapped());
    Q_EMIT opened(read.document);
  } else {
    Q_EMIT failed(read.failure, read.plan);
  }
  if (--opening_ == 0) Q_EMIT busyChanged(false);
}

void Workspace::use(const reports::DocumentPtr& plan, const PlanningQuestion& question, const QString& name) {
  if (!used_folder_.isValid()) throw DeviceError(QDir::tempPath().toStdString() + ": cannot be written");
  std::vector<reports::DocumentPtr> before;
  std::copy_if(documents_.begin(), documents_.end(), std::back_inserter(before),
               [&](const reports::DocumentPtr& open) { return isUsed(*open); });
  save(plan, question, used_folder_.filePath(name));
  for (const reports::DocumentPtr& document : before) close(document);
}

bool Workspace::isUsed(const reports::Document& document) const {
  return document.file.parent_path() == used_folder_.path().toStdString();
}

void Workspace::save(const reports::DocumentPtr& plan, const PlanningQuestion& question,
                     const QString& file) {
  const auto& document = *plan->as<reports::PlanDocument>();
  const std::filesystem::path path = QFileInfo(file).absoluteFilePath().toStdString();
  write_file_whole(path, plan_text(document.plan, document.model.graph));
  answered_[path] = question;
  open({file});
}

QString Workspace::titleOf(const reports::Document& document) {
  const QString name = QString::fromStdString(document.file.filename().string());
  return document.rank ? tr("%1, rank %2").arg(name).arg(*document.rank) : name;
}

void Workspace::add(const reports::DocumentPtr& document) {
  const auto same_file = [&](const reports::DocumentPtr& open) { return open->file == document->file; };
  const auto at = std::find_if(documents_.begin(), documents_.end(), same_file) - documents_.begin();
  const reports::DocumentPtr before =
      at == std::ssize(documents_) ? nullptr : documents_[static_cast<size_t>(at)];
  std::erase_if(documents_, same_file);
  std::erase_if(chosen_, same_file);
  if (beside_ != nullptr && same_file(beside_)) beside_ = nullptr;
  if (before != nullptr && question_.profile == before)
    question_.profile = document->as<profiler::Profile>() == nullptr ? nullptr : document;
  const std::vector<reports::DocumentPtr>& parts = document->ranks;
  documents_.insert(documents_.begin() + at, parts.begin(), parts.end());
  documents_.insert(documents_.begin() + at, document);
  choose(document);
  if (!parts.empty()) choose(parts.front());
}

void Workspace::choose(const reports::DocumentPtr& document) {
  if (std::find(documents_.begin(), documents_.end(), document) == documents_.end()) return;
  const auto before = std::find_if(chosen_.begin(), chosen_.end(), [&](const reports::DocumentPtr& other) {
    return same_kind(other, document);
  });
  if (document == beside_) beside_ = before == chosen_.end() ? nullptr : *before;
  if (before != chosen_.end()) chosen_.erase(before);
  chosen_.push_back(document);
  Q_EMIT documentsChanged();
  const bool unchosen = question_.by_default || question_.request.width_pixels <= 0;
  if (const auto* plan = document->as<reports::PlanDocument>()) {
    ask(questionInFile(*plan));
  } else if (const std::optional<Request> request = unchosen ? request_of(*document) : std::nullopt) {
    PlanningQuestion question = question_;
    question.request = *request;
    question.by_default = true;
    ask(question);
  } else if (document->as<profiler::Profile>() != nullptr && question_.profile != document) {
    // A plan may have been opened before the profile that it was made with.
    const reports::DocumentPtr plan_file = chosen<reports::PlanDocument>();
    if (plan_file == nullptr || !is_profile_of(document, plan_file->as<reports::PlanDocument>()->plan))
      return;
    question_.profile = document;
    Q_EMIT questionChanged();
  }
}

void Workspace::showBeside(const reports::DocumentPtr& document) {
  beside_ = document;
  Q_EMIT documentsChanged();
}

void Workspace::close(const reports::DocumentPtr& document) {
  if (std::find(documents_.begin(), documents_.end(), document) == documents_.end()) return;
  const reports::DocumentPtr closed = document;  // the argument may be an element of what is changed here
  const auto same_file = [&](const reports::DocumentPtr& open) { return open->file == closed->file; };
  std::erase_if(documents_, same_file);
  std::vector<reports::DocumentPtr> no_more_chosen;
  std::copy_if(chosen_.begin(), chosen_.end(), std::back_inserter(no_more_chosen), same_file);
  std::erase_if(chosen_, same_file);
  if (beside_ != nullptr && same_file(beside_)) beside_ = nullptr;
  for (const reports::DocumentPtr& gone : no_more_chosen) {
    const auto next = std::find_if(documents_.rbegin(), documents_.rend(),
                                   [&](const reports::DocumentPtr& other) { return same_kind(other, gone); });
    if (next != documents_.rend()) chosen_.push_back(*next);
    if (next != documents_.rend() && *next == beside_) beside_ = nullptr;
  }
  Q_EMIT documentsChanged();
  if (question_.profile == closed) {
    question_.profile = nullptr;
    Q_EMIT questionChanged();
  }
}

PlanningQuestion Workspace::questionInFile(const reports::PlanDocument& plan) const {
  PlanningQuestion question = question_of(plan);
  const reports::DocumentPtr profile = chosen<profiler::Profile>();
  if (is_profile_of(profile, plan.plan)) question.profile = profile;
  return question;
}

PlanningQuestion Workspace::questionOf(const reports::DocumentPtr& document) const {
  const PlanningQuestion in_file = questionInFile(*document->as<reports::PlanDocument>());
  const bool own =
      question_.request == in_file.request && question_.options.limit_bytes == in_file.options.limit_bytes;
  return own ? question_ : in_file;
}

void Workspace::ask(const PlanningQuestion& question) {
  question_ = question;
  const auto* profile = question.profile == nullptr ? nullptr : question.profile->as<profiler::Profile>();
  if (profile != nullptr && !serves(*profile, question.request)) question_.profile = nullptr;
  Q_EMIT questionChanged();
}

reports::DocumentPtr run_of_plan(const Workspace& workspace, const reports::DocumentPtr& plan) {
  std::vector<reports::DocumentPtr> candidates{workspace.chosen<RunStats>()};
  candidates.insert(candidates.end(), workspace.documents().rbegin(), workspace.documents().rend());
  for (const reports::DocumentPtr& document : candidates) {
    if (document == nullptr || document->as<RunStats>() == nullptr) continue;
    // Statistics of several ranks describe the passes of rank 0.
    const bool of_ranks = !document->as<RunStats>()->ranks.empty();
    if (of_ranks != plan->rank.has_value() || plan->rank.value_or(0) != 0) continue;
    try {
      planner::analyze(plan->as<reports::PlanDocument>()->plan, plan->file.string(),
                       *document->as<RunStats>(), document->file.string());
      return document;
    } catch (const InputError&) {
      // Mismatched statistics belong to another plan.
    }
  }
  return nullptr;
}

}  // namespace headroom::gui
