#pragma once

#include <QCoreApplication>
#include <QString>
#include <QStringList>
#include <vector>

namespace headroom::gui {

/// Inputs of a run, in the order in which they are asked for.
enum class RunField { model, weights, seed, latent, latent_scale, plan, limit, sizes, output };

struct RunProblem {
  RunField field;
  QString text;  ///< what is wrong with it, to stand beside it
};

/// A run of headroom-decode or headroom-profile as it is filled in.
struct RunRequest {
  enum class Kind {
    decode,
    measure,  ///< headroom-profile at some sizes
  };
  Kind kind = Kind::decode;
  QString model;  ///< folder or built-in name
  bool random_weights = false;
  QString weights;                     ///< folder; the model's own where empty
  QString seed = QStringLiteral("0");  ///< of random weights
  QString latent;
  QString latent_scale;  ///< a word of --latent-scale; empty: as given, and the program says what it sees
  bool by_plan = true;   ///< run a plan, not plan now for a limit
  QString plan;          ///< its file
  QString limit;
  QString sizes;  ///< of measuring: 512x512,1024x1024
  QString output;
  bool record_trace = true;
};

/// Where a run puts what it measures.
struct RunFiles {
  QString stats;    ///< empty where there is none
  QString trace;    ///< likewise
  QString preview;  ///< likewise
};

/// What stands in the way of starting it, at most one thing for each field. Files are looked for, configs are
/// read; latents and weights are left to the program.
class RunCheck {
  Q_DECLARE_TR_FUNCTIONS(headroom::gui::RunCheck)
 public:
  static std::vector<RunProblem> problems(const RunRequest& request);
};

/// What the output of a decode may end in, with the dot: the suffixes of files that headroom-decode writes.
QStringList decoded_suffixes();

/// The program's name: "headroom-decode".
QString program_of(const RunRequest& request);

/// Statistics and trace stand beside the output and are named after it: picture.stats.json. `folder` is for
/// what lasts no longer than the run.
RunFiles files_of(const RunRequest& request, const QString& folder);

/// The program's arguments, progress lines included.
QStringList arguments_of(const RunRequest& request, const RunFiles& files);

/// What is worth opening once it is done.
QStringList results_of(const RunRequest& request, const RunFiles& files);

}  // namespace headroom::gui
