#include "gui/model/child_run.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/base/os/process.h"
#include "gui/model/figure_text.h"

namespace headroom::gui {
namespace {

constexpr int kPatienceMilliseconds = 3000;
constexpr qsizetype kMostMessages = 200;
constexpr qsizetype kMostOutputBytes = 1 << 20;
constexpr size_t kMostSamples = 16'384;
constexpr size_t kMostPasses = 20'000;
constexpr double kShareForSpeed = 0.03;  ///< share of the decode from which its speed predicts the rest

QString bytes(int64_t count) {
  return figure_text(reports::Unit::bytes, double(count));
}

QString duration(double seconds) {
  return figure_text(reports::Unit::seconds, seconds);
}

}  // namespace

QString programBeside(const QString& name) {
  const QString folder = qEnvironmentVariable("HEADROOM_BIN", QCoreApplication::applicationDirPath());
  return QDir(folder).filePath(name);
}

ChildRun::ChildRun(QObject* parent) : QObject(parent) {
  reader_.emplace([this](const ProgressEvent& event) { take(event); },
                  [this](const std::string& line) { addMessage(line); });
  process_.setStandardInputFile(QProcess::nullDevice());
  patience_.setSingleShot(true);
  patience_.setInterval(kPatienceMilliseconds);
  connect(&patience_, &QTimer::timeout, &process_, &QProcess::kill);
  connect(&process_, &QProcess::readyReadStandardError, this, &ChildRun::readErrors);
  connect(&process_, &QProcess::readyReadStandardOutput, this, &ChildRun::readOutput);
  connect(&process_, &QProcess::finished, this, &ChildRun::end);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;  // other errors also emit finished()
    start_failure_ = process_.errorString();
    setState(State::failed);
  });
}

ChildRun::~ChildRun() {
  process_.disconnect(this);
  if (process_.state() == QProcess::NotRunning) return;
  process_.terminate();
  if (process_.waitForFinished(kPatienceMilliseconds)) return;
  process_.kill();
  process_.waitForFinished();
}

void ChildRun::start(const QString& program, const QStringList& arguments) {
  if (running()) return;
  reader_.emplace([this](const ProgressEvent& event) { take(event); },
                  [this](const std::string& line) { addMessage(line); });
  progress_ = {};
  pace_from_seconds_ = 0;
  since_news_.start();
  messages_.clear();
  output_.clear();
  start_failure_.clear();
  code_ = 0;
  program_ = QFileInfo(program).fileName();
  setState(State::running);
  process_.start(program, arguments, QIODevice::ReadOnly);
}

void ChildRun::cancel() {
  if (state_ != State::running) return;
  setState(State::cancelling);
  process_.terminate();
  patience_.start();
}

void ChildRun::readErrors() {
  const QByteArray text = process_.readAllStandardError();
  if (text.isEmpty()) return;
  reader_->read({text.constData(), static_cast<size_t>(text.size())});
  Q_EMIT progressed();
}

void ChildRun::readOutput() {
  output_ += process_.readAllStandardOutput();
  output_.truncate(kMostOutputBytes);
}

void ChildRun::take(const ProgressEvent& event) {
  since_news_.start();
  progress_.seconds = event.seconds;
  if (const auto* begun = std::get_if<RunBegun>(&event.news)) {
    progress_.begun = *begun;
    progress_.passes = begun->passes;
    progress_.doing.clear();
  } else if (const auto* work = std::get_if<WorkDone>(&event.news)) {
    progress_.share = work->share;
    progress_.doing = QString::fromStdString(work->what);
  } else if (const auto* weights = std::get_if<WeightsLoaded>(&event.news)) {
    progress_.doing = tr("loading weights, %1 %").arg(qRound(100 * weights->share));
    pace_from_seconds_ = event.seconds;
  } else if (const auto* decode = std::get_if<DecodeStarted>(&event.news)) {
    progress_.doing = QString::fromStdString(decode->name);
  } else if (std::holds_alternative<VerificationStarted>(event.news)) {
    progress_.verifying = true;
    progress_.share = 0;
    pace_from_seconds_ = event.seconds;
  } else if (const auto* pass = std::get_if<PassStarted>(&event.news)) {
    if (progress_.pass < 0) pace_from_seconds_ = event.seconds;
    progress_.pass = pass->pass;
    progress_.passes = pass->of;
    progress_.doing = with_short_names(QString::fromStdString(pass->name));
    progress_.tile = progress_.tiles = progress_.step = progress_.steps = 0;
    progress_.of_step = 0;
    if (!progress_.verifying && progress_.passes_begun.size() < kMostPasses)
      progress_.passes_begun.emplace_back(event.seconds, progress_.doing);
  } else if (const auto* tile = std::get_if<TileDone>(&event.news)) {
    progress_.share = tile->share;
    progress_.tile = tile->tile + 1;
    progress_.tiles = tile->of;
    progress_.step = progress_.steps = 0;
    progress_.of_step = 0;
    if (tile->region) ++progress_.regions;
  } else if (const auto* steps = std::get_if<StepsDone>(&event.news)) {
    progress_.share = steps->share;
    progress_.step = steps->steps;
    progress_.steps = steps->of;
    progress_.of_step = steps->of_step;
  } else if (const auto* sample = std::get_if<MemorySample>(&event.news)) {
    if (!progress_.verifying) addMemory({event.seconds, *sample});
  } else if (const auto* ended = std::get_if<RunEnded>(&event.news)) {
    progress_.ended = *ended;
  }
}

void ChildRun::addMemory(const RunMemory& memory) {
  std::vector<RunMemory>& samples = progress_.memory;
  samples.push_back(memory);
  if (samples.size() < kMostSamples) return;
  for (size_t i = 0; i + 1 < samples.size(); i += 2) {
    const int64_t peak_bytes = std::max(samples[i].sample.peak_bytes, samples[i + 1].sample.peak_bytes);
    samples[i / 2] = samples[i + 1];
    samples[i / 2].sample.peak_bytes = peak_bytes;
  }
  samples.resize(samples.size() / 2);
}

void ChildRun::addMessage(const std::string& line) {
  if (line.empty()) return;
  messages_.append(QString::fromStdString(line.substr(0, 4096)));
  if (messages_.size() > kMostMessages) messages_.removeFirst();
  Q_EMIT messageCame(messages_.last());
}

double ChildRun::secondsNow() const {
  const bool waits = running() && !progress_.ended;
  return progress_.seconds + (waits ? double(since_news_.elapsed()) / 1000 : 0);
}

std::optional<double> ChildRun::secondsLeft() const {
  if (!running()) return std::nullopt;
  const double since = double(since_news_.elapsed()) / 1000;
  if (progress_.share >= kShareForSpeed) {
    const double taken = progress_.seconds - pace_from_seconds_;
    return std::max(0.0, taken * (1 - progress_.share) / progress_.share - since);
  }
  if (progress_.begun.predicted_seconds <= 0 || progress_.verifying) return std::nullopt;
  return std::max(0.0, progress_.begun.predicted_seconds * (1 - progress_.share) - since);
}

void ChildRun::end(int exit_code, QProcess::ExitStatus status) {
  patience_.stop();
  readErrors();
  readOutput();
  reader_->finish();
  code_ = exit_code;  // or the signal's number
  const bool by_itself = status == QProcess::NormalExit;
  if (by_itself && exit_code == kDone) {
    progress_.share = 1;
    setState(State::done);
  } else if (state_ == State::cancelling) {
    setState(State::cancelled);
  } else {
    setState(by_itself ? State::failed : State::killed);
  }
}

void ChildRun::setState(State state) {
  state_ = state;
  Q_EMIT stateChanged(state);
}

QString ChildRun::lastWords() const {
  if (messages_.isEmpty()) return {};
  return withoutProgram(messages_.last());
}

QString ChildRun::withoutProgram(const QString& message) const {
  const QString prefix = program_ + ": ";
  return message.startsWith(prefix) ? message.mid(prefix.size()) : message;
}

QString ChildRun::latentNote() const {
  for (const QString& message : messages_) {
    const QString words = withoutProgram(message);
    const bool warns = words.startsWith(QLatin1String("warning: "));
    if (words.startsWith(QLatin1String("latent")) || (warns && words.contains(QLatin1String("this latent"))))
      return words;
  }
  return {};
}

QString ChildRun::report() const {
  switch (state_) {
    case State::idle:
      return {};
    case State::running:
      return tr("%1 runs.").arg(program_);
    case State::cancelling:
      return tr("Stopping %1.").arg(program_);
    case State::cancelled:
      return tr("Cancelled.");
    case State::killed:
      if (is_kill_signal(code_)) return tr("The system ended it (signal 9), most likely for memory.");
      return tr("It crashed (signal %1). %2").arg(code_).arg(lastWords()).trimmed();
    case State::done: {
      const RunEnded ended = progress_.ended.value_or(RunEnded{});
      if (ended.peak_bytes <= 0) return tr("Done.");
      if (progress_.begun.limit_bytes <= 0)
        return tr("Done in %1, peak %2.").arg(duration(ended.decode_seconds), bytes(ended.peak_bytes));
      return tr("Done in %1, peak %2 of a limit of %3.")
          .arg(duration(ended.decode_seconds), bytes(ended.peak_bytes), bytes(progress_.begun.limit_bytes));
    }
    case State::failed:
      break;
  }
  if (!start_failure_.isEmpty()) return tr("%1 cannot be started: %2").arg(program_, start_failure_);
  QString meaning = tr("It failed");
  if (code_ == kBadInput) meaning = tr("The input was refused");
  if (code_ == kDoesNotFit) meaning = tr("It does not fit");
  if (code_ == kLimitExceeded) meaning = tr("It was stopped at the limit");
  if (code_ == kDeviceFailure) meaning = tr("The device or a library failed");
  QString words = lastWords();
  if (code_ == kDoesNotFit && lastWords().contains(QLatin1String("; with --"))) {
    words += QLatin1Char('\n') +
             tr("The page Run has no fields for these options. The page Frontier has a button for each of "
                "them; \"Use this plan\" there brings the plan here. On the command line, add the option to "
                "headroom-decode.");
  }
  if (code_ == kDeviceFailure && (words.startsWith(QLatin1String("built without CUDA")) ||
                                  words.startsWith(QLatin1String("cannot use CUDA"))))
    words += QLatin1Char('\n') +
             tr("Choose the device CPU, or a build of Headroom with CUDA on a machine with an NVIDIA GPU.");
  return words.isEmpty() ? tr("%1 (exit code %2).").arg(meaning).arg(code_)
                         : tr("%1: %2").arg(meaning, words);
}

}  // namespace headroom::gui
