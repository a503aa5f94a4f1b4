#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTimer>
#include <optional>
#include <vector>

#include "decoder/base/progress/progress_lines.h"

namespace headroom::gui {

/// Path of the program `name`, in the folder of the environment variable HEADROOM_BIN. Unset: the folder of
/// this program.
QString programBeside(const QString& name);

/// Device memory of a run at one moment.
struct RunMemory {
  double seconds = 0;  ///< since the program began
  MemorySample sample;
};

/// Progress of a run so far.
struct RunProgress {
  RunBegun begun;
  double share = 0;   ///< of the decode that runs, 0 to 1
  QString doing;      ///< the pass, the weights or what is measured
  int64_t pass = -1;  ///< from 0; -1: none yet
  int64_t passes = 0;
  int64_t tile = 0, tiles = 0;    ///< tiles of the pass that are done, and all; 0: not known yet
  int64_t step = 0, steps = 0;    ///< steps of a slow tile that are done, and all
  double of_step = 0;             ///< of the step that runs, 0 to 1
  bool verifying = false;         ///< --verify's second decode runs, to which the limit does not apply
  double seconds = 0;             ///< time of the last progress line, since the program began
  std::vector<RunMemory> memory;  ///< samples of the decode under the limit; thinned out, peaks kept
  std::vector<std::pair<double, QString>> passes_begun;  ///< seconds and names
  int64_t regions = 0;                                   ///< lines with something new in the picture
  std::optional<RunEnded> ended;
};

/// One run of headroom-decode or headroom-profile as a child process.
class ChildRun : public QObject {
  Q_OBJECT
 public:
  enum class State {
    idle,
    running,
    cancelling,
    done,
    cancelled,
    failed,  ///< the program returned an exit code above 0, or could not be started
    killed,  ///< a signal ended the program, and cancel() did not send it
  };
  Q_ENUM(State)

  explicit ChildRun(QObject* parent = nullptr);
  /// Ends a program that still runs.
  ~ChildRun() override;

  /// Starts a program, unless one runs. `--progress lines` is among `arguments` already.
  void start(const QString& program, const QStringList& arguments);
  /// Asks the program to end, and kills it after three seconds.
  void cancel();

  State state() const { return state_; }
  bool running() const { return state_ == State::running || state_ == State::cancelling; }
  const RunProgress& progress() const { return progress_; }
  /// Seconds since the program began. Keeps counting between progress lines.
  double secondsNow() const;
  /// Remaining run time, from the speed so far. At first it comes from the prediction.
  std::optional<double> secondsLeft() const;
  /// The last lines on standard error, without the progress lines.
  const QStringList& messages() const { return messages_; }
  /// The program's message on how it scales the latent, without its name. Empty: no such message.
  QString latentNote() const;
  /// Standard output, at most its first MiB.
  QString output() const { return QString::fromUtf8(output_); }
  /// Progress lines that could not be read.
  int64_t damagedLines() const { return reader_->damaged(); }
  /// One sentence on how the run ended. Includes the program's last message.
  QString report() const;

 Q_SIGNALS:
  void stateChanged(headroom::gui::ChildRun::State state);
  void progressed();
  void messageCame(const QString& line);

 private:
  void readErrors();
  void readOutput();
  void take(const ProgressEvent& event);
  void addMemory(const RunMemory& memory);
  void addMessage(const std::string& line);
  void end(int exit_code, QProcess::ExitStatus status);
  void setState(State state);
  QString withoutProgram(const QString& message) const;
  /// The last message without the program's name.
  QString lastWords() const;

  QProcess process_;
  QTimer patience_;  ///< time left until cancel() kills the program
  std::optional<ProgressReader> reader_;
  RunProgress progress_;
  double pace_from_seconds_ = 0;  ///< when the share began to count
  QElapsedTimer since_news_;
  QStringList messages_;
  QByteArray output_;
  State state_ = State::idle;
  QString program_;  ///< its name
  int code_ = 0;     ///< exit code, or the signal's number
  QString start_failure_;
};

}  // namespace headroom::gui
