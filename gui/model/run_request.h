#pragma once

#include <QCoreApplication>
#include <QString>
#include <QStringList>
#include <vector>

namespace headroom::gui {

/// Inputs of a run, in the order of the form.
enum class RunField {
  model,
  weights,
  seed,
  latent,
  latent_scale,
  picture,
  plan,
  limit,
  device,
  sizes,
  output
};

struct RunProblem {
  RunField field;
  QString text;  ///< error message shown beside the field
};

/// Inputs of a run of headroom-decode or headroom-profile.
struct RunRequest {
  enum class Kind {
    decode,
    encode,   ///< headroom-decode encode
    measure,  ///< headroom-profile at some sizes
  };
  Kind kind = Kind::decode;
  QString model;  ///< folder or built-in name
  bool random_weights = false;
  QString weights;                     ///< folder; empty: the model's own weights
  QString seed = QStringLiteral("0");  ///< of random weights
  QString latent;
  QString latent_scale;  ///< value of --latent-scale
  QString picture;       ///< input of an encode: a picture, a folder of frames, or an array
  bool by_plan = true;   ///< true: run a plan from a file; false: plan for a limit first
  QString plan;          ///< its file
  QString limit;
  QString device;  ///< value of --device; a plan from a file has its own
  QString sizes;   ///< sizes to measure: 512x512,1024x1024
  QString output;
  bool record_trace = true;
  bool verify = false;  ///< true: also decode untiled, and compare
};

/// Files that a run writes beside its output.
struct RunFiles {
  QString stats;    ///< empty: the run does not write it
  QString trace;    ///< likewise
  QString preview;  ///< likewise
};

/// Problems that keep a run from starting, at most one for each field. The check looks for files and reads
/// configs. The program itself checks latents and weights.
class RunCheck {
  Q_DECLARE_TR_FUNCTIONS(headroom::gui::RunCheck)
 public:
  static std::vector<RunProblem> problems(const RunRequest& request);
};

/// File suffixes that this kind of run can write, with the dot.
QStringList output_suffixes_of(RunRequest::Kind kind);

/// The program's name: "headroom-decode".
QString program_of(const RunRequest& request);

/// Paths of a run's extra files. Statistics and trace are named after the output and written beside it:
/// picture.stats.json. The preview goes to `folder`, because it is only needed during the run.
RunFiles files_of(const RunRequest& request, const QString& folder);

/// The program's arguments, progress lines included.
QStringList arguments_of(const RunRequest& request, const RunFiles& files);

/// Files to open after the run.
QStringList results_of(const RunRequest& request, const RunFiles& files);

}  // namespace headroom::gui
