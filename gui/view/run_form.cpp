#include "gui/view/run_form.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRadioButton>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "decoder/families/built_in_models.h"
#include "decoder/graph/model.h"
#include "gui/model/figure_text.h"
#include "gui/view/input_fields.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

/// Sets the text of a field that has a chooser button.
void put(QWidget* field, const QString& text) {
  if (auto* box = qobject_cast<QComboBox*>(field)) box->setEditText(text);
  if (auto* edit = qobject_cast<QLineEdit*>(field)) edit->setText(text);
}

QString plan_text(const reports::Document& document) {
  const Plan& plan = document.as<reports::PlanDocument>()->plan;
  return RunForm::tr("%1: %2×%3")
      .arg(QString::fromStdString(document.file.filename().string()))
      .arg(plan.request.width_pixels)
      .arg(plan.request.height_pixels);
}

}  // namespace

RunForm::RunForm(Workspace& workspace, QWidget* parent)
    : QWidget(parent), workspace_(workspace), rows_(new QFormLayout(this)) {
  rows_->setRowWrapPolicy(QFormLayout::WrapAllRows);
  rows_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  buildKind();
  buildModel();
  buildWeights();
  buildLatent();
  buildPicture();
  buildMemory();
  buildOutput();
  connect(&workspace_, &Workspace::documentsChanged, this, &RunForm::listPlans);
  connect(&workspace_, &Workspace::questionChanged, this, &RunForm::showQuestion);
  listPlans();
  showQuestion();
  showKind();
  for (QLineEdit* field : findChildren<QLineEdit*>())
    connect(field, &QLineEdit::textChanged, this, &RunForm::changed);
  for (QComboBox* field : findChildren<QComboBox*>())
    connect(field, &QComboBox::currentIndexChanged, this, &RunForm::changed);
  for (QAbstractButton* field : findChildren<QAbstractButton*>())
    connect(field, &QAbstractButton::toggled, this, &RunForm::changed);
}

QLabel* RunForm::heading(const QString& text) {
  auto* label = new PlainLabel(text, this);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  rows_->addRow(label);
  return label;
}

void RunForm::buildKind() {
  heading(tr("Task"));
  decode_ = new QRadioButton(tr("Decode a late&nt"), this);
  decode_->setObjectName("decode");
  decode_->setToolTip(tr("Runs headroom-decode: the latent becomes a picture inside the limit."));
  encode_ = new QRadioButton(tr("Encode a picture"), this);
  encode_->setObjectName("encode");
  encode_->setToolTip(tr("Runs headroom-decode encode: the picture becomes a latent inside the limit."));
  measure_ = new QRadioButton(tr("Measure the la&yers"), this);
  measure_->setObjectName("measure");
  measure_->setToolTip(tr(
      "Runs headroom-profile: what each layer of the decoder costs on this machine, in bytes and time. Plans "
      "made with this profile predict this machine's times."));
  auto* kinds = new QButtonGroup(this);
  for (QRadioButton* button : {decode_, encode_, measure_}) {
    kinds->addButton(button);
    rows_->addRow(button);
  }
  decode_->setChecked(true);
  connect(kinds, &QButtonGroup::buttonToggled, this, [this](QAbstractButton*, bool checked) {
    if (!checked) return;
    listPlans();
    showKind();
  });
}

void RunForm::buildModel() {
  model_ = new QComboBox(this);
  model_->setObjectName("model");
  model_->setEditable(true);
  model_->setInsertPolicy(QComboBox::NoInsert);
  model_->setMinimumContentsLength(12);
  model_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  for (const std::string& name : built_in_models()) model_->addItem(QString::fromStdString(name));
  addRow(tr("&Model"), withButton(model_, tr("Folder of a model"), &RunForm::chooseFolder), RunField::model,
         tr("The decoder: a folder in diffusers' layout with config.json and weights, or a built-in name."));
}

void RunForm::buildWeights() {
  weights_ = line("weights", tr("the model's own folder"));
  addRow(tr("&Weights"), withButton(weights_, tr("Folder of the weights"), &RunForm::chooseFolder),
         RunField::weights, tr("A folder with diffusion_pytorch_model.safetensors, one file or sharded."));
  random_ = new QCheckBox(tr("&Random weights"), this);
  random_->setObjectName("random");
  random_->setToolTip(
      tr("Fills the model from a seed: the picture is noise, memory and time are those of real weights."));
  rows_->addRow(random_);
  seed_ = line("seed", {});
  seed_->setText("0");
  addRow(tr("S&eed"), seed_, RunField::seed,
         tr("A whole number; the same seed gives the same weights everywhere."));
  connect(random_, &QCheckBox::toggled, this, &RunForm::showKind);
}

void RunForm::buildLatent() {
  latent_ = line("latent", tr("latent.npy, latent.safetensors"));
  addRow(tr("L&atent"), withButton(latent_, tr("Latent"), &RunForm::chooseLatent), RunField::latent,
         tr("The result of the diffusion model, which the decoder turns into a picture: floats, batch × "
            "channels × "
            "height × width."));
  latent_scale_ = new QComboBox(this);
  latent_scale_->setObjectName("latent-scale");
  latent_scale_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  latent_scale_->setMinimumContentsLength(12);
  for (const auto& [name, word] :
       {std::pair(tr("detect from its values"), "auto"), std::pair(tr("undo the pipeline's"), "model"),
        std::pair(tr("none: the decoder's own input"), "none")})
    latent_scale_->addItem(name, QString::fromLatin1(word));
  addRow(tr("Scalin&g of the latent"), latent_scale_, RunField::latent_scale,
         tr("Most pipelines output scaled latents (output_type=\"latent\"). Without undoing the scaling, the "
            "picture is wrong. The option --latent-scale of headroom-decode."));
}

void RunForm::buildPicture() {
  picture_ = line("picture", tr("photo.png, frames/, pixels.npy"));
  addRow(
      tr("Picture &file"), withButton(picture_, tr("Picture"), &RunForm::choosePicture), RunField::picture,
      tr("A picture (.png, .jpg, .webp), a folder with the frames of a clip, or floats from -1 to 1 in .npy "
         "or .safetensors."));
}

void RunForm::buildMemory() {
  memory_heading_ = heading(tr("Memory"));
  by_plan_ = new QRadioButton(tr("By a &plan that is open"), this);
  by_plan_->setObjectName("by-plan");
  by_plan_->setToolTip(tr("Runs this plan and shows its predictions next to the measurements."));
  by_limit_ = new QRadioButton(tr("Within a l&imit"), this);
  by_limit_->setObjectName("by-limit");
  by_limit_->setToolTip(tr("Plans first, for the latent's size and this many bytes."));
  auto* ways = new QButtonGroup(this);
  ways->addButton(by_plan_);
  ways->addButton(by_limit_);
  by_plan_->setChecked(true);
  connect(by_plan_, &QRadioButton::toggled, this, &RunForm::showKind);

  plan_ = new QComboBox(this);
  plan_->setObjectName("plan");
  plan_->setMinimumContentsLength(12);
  plan_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  limit_ = line("limit", QStringLiteral("1.2GiB, 800MiB, auto"));
  rows_->addRow(by_plan_);
  addRow(tr("Plan"), plan_, RunField::plan,
         tr("The plans that are open. The pages Frontier and Plan make some."));
  rows_->addRow(by_limit_);
  addRow(tr("&Limit"), limit_, RunField::limit,
         tr("The most device memory that the run may take at any moment, weights included. auto: the "
            "free memory."));
  device_ = new QComboBox(this);
  device_->setObjectName("device");
  for (const DeviceRecord& device : all_devices())
    if (device.in_programs)
      device_->addItem(QString::fromLatin1(device.title), QString::fromLatin1(device.name));
  addRow(tr("&Device"), device_, RunField::device,
         tr("The device that runs it. A GPU needs a build of Headroom with CUDA."));
  sizes_ = line("sizes", QStringLiteral("256x256,512x512"));
  addRow(tr("Si&zes"), sizes_, RunField::sizes,
         tr("Pictures at which the layers are measured untiled, in pixels: WIDTHxHEIGHT, with commas between "
            "them. Two sizes and "
            "more show how costs grow."));
}

void RunForm::buildOutput() {
  output_ = line("output", {});
  addRow(tr("&Output"), withButton(output_, tr("Output"), &RunForm::chooseOutput), RunField::output,
         tr("The picture or clip (%1), the latent (%2), or the profile (.json). Statistics and trace stand "
            "beside it and are named after it.")
             .arg(output_suffixes_of(RunRequest::Kind::decode).join(QStringLiteral(", ")),
                  output_suffixes_of(RunRequest::Kind::encode).join(QStringLiteral(", "))));
  trace_ = new QCheckBox(tr("Record a &trace"), this);
  trace_->setObjectName("trace");
  trace_->setChecked(true);
  trace_->setToolTip(
      tr("Records every allocation, pass and tile for the page Timeline, in up to about 50 MB."));
  rows_->addRow(trace_);
  verify_ = new QCheckBox(tr("Compare with the &untiled decode"), this);
  verify_->setObjectName("verify");
  verify_->setToolTip(
      tr("Decodes untiled afterwards, and reports the largest difference. The limit does not apply to that "
         "decode. The option --verify of headroom-decode."));
  rows_->addRow(verify_);
}

QLineEdit* RunForm::line(const char* name, const QString& example) {
  auto* field = new QLineEdit(this);
  field->setObjectName(name);
  field->setPlaceholderText(example);
  connect(field, &QLineEdit::returnPressed, this, &RunForm::submitted);
  return field;
}

void RunForm::addRow(const QString& label, QWidget* editor, RunField field, const QString& explanation) {
  auto* cell = new QWidget(this);
  auto* column = new QVBoxLayout(cell);
  column->setContentsMargins({});
  column->addWidget(editor);
  auto* note = new InputNote(cell);
  column->addWidget(note);
  QWidget* focused = editor->focusProxy() != nullptr ? editor->focusProxy() : editor;
  note->setObjectName(QStringLiteral("note-") + focused->objectName());
  auto* text = new PlainLabel(label, this);
  text->setBuddy(focused);
  text->setToolTip(explanation);
  focused->setToolTip(explanation);
  focused->setAccessibleName(QString(label).remove('&'));
  rows_->addRow(text, cell);
  notes_[field] = note;
  cells_[field] = cell;
  editors_[field] = focused;
}

QWidget* RunForm::withButton(QWidget* field, const QString& caption,
                             QString (RunForm::*choose)(const QString&)) {
  return with_chooser(field, tr("Choose…"), caption, [this, field, caption, choose] {
    const QString chosen = (this->*choose)(caption);
    if (!chosen.isEmpty()) put(field, chosen);
  });
}

QString RunForm::chooseFolder(const QString& caption) {
  return QFileDialog::getExistingDirectory(this, caption);
}

QString RunForm::chooseLatent(const QString& caption) {
  return QFileDialog::getOpenFileName(this, caption, {}, tr("Latents (*.npy *.safetensors *.pt *.latent)"));
}

QString RunForm::choosePicture(const QString& caption) {
  return QFileDialog::getOpenFileName(
      this, caption, {}, tr("Pictures and arrays (*.png *.jpg *.jpeg *.webp *.npy *.safetensors)"));
}

QString RunForm::chooseOutput(const QString& caption) {
  const QString files = QStringLiteral("*") + output_suffixes_of(kind()).join(QStringLiteral(" *"));
  const QString name = kind() == RunRequest::Kind::decode   ? tr("Pictures and clips (%1)")
                       : kind() == RunRequest::Kind::encode ? tr("Latents (%1)")
                                                            : tr("Profiles (%1)");
  return QFileDialog::getSaveFileName(this, caption, output_->text(), name.arg(files));
}

RunRequest::Kind RunForm::kind() const {
  if (encode_->isChecked()) return RunRequest::Kind::encode;
  return decode_->isChecked() ? RunRequest::Kind::decode : RunRequest::Kind::measure;
}

void RunForm::showKind() {
  const bool decodes = decode_->isChecked(), runs = !measure_->isChecked();
  const auto show = [&](RunField field, bool visible) { rows_->setRowVisible(cells_.at(field), visible); };
  show(RunField::weights, !random_->isChecked());
  show(RunField::seed, random_->isChecked());
  show(RunField::latent, decodes);
  show(RunField::latent_scale, decodes);
  show(RunField::picture, encode_->isChecked());
  rows_->setRowVisible(memory_heading_, runs);
  rows_->setRowVisible(by_plan_, runs);
  rows_->setRowVisible(by_limit_, runs);
  rows_->setRowVisible(trace_, decodes);
  rows_->setRowVisible(verify_, decodes);
  show(RunField::plan, runs && by_plan_->isChecked());
  show(RunField::limit, runs && by_limit_->isChecked());
  show(RunField::device, !runs || by_limit_->isChecked());
  show(RunField::sizes, !runs);
  for (const auto& [field, note] : notes_) note->say({});
}

void RunForm::listPlans() {
  const reports::DocumentPtr chosen = workspace_.chosen<reports::PlanDocument>();
  const bool none_before = plans_.empty();
  plans_.clear();
  plan_->clear();
  for (const reports::DocumentPtr& document : workspace_.documents()) {
    const auto* plan = document->as<reports::PlanDocument>();
    // One rank's plan cannot run by itself.
    if (plan == nullptr || document->rank) continue;
    if (encode_->isChecked() != encodes(plan->plan.request.direction)) continue;
    plans_.push_back(document);
    plan_->addItem(plan_text(*document));
    plan_->setItemData(plan_->count() - 1, plain_tooltip(QString::fromStdString(reports::summary(*document))),
                       Qt::ToolTipRole);
    if (document == chosen) plan_->setCurrentIndex(plan_->count() - 1);
  }
  by_plan_->setEnabled(!plans_.empty());
  if (plans_.empty())
    by_limit_->setChecked(true);
  else if (none_before)
    by_plan_->setChecked(true);
}

void RunForm::showQuestion() {
  const Direction direction = workspace_.question().request.direction;
  if (direction != direction_shown_) {
    direction_shown_ = direction;
    if (!measure_->isChecked()) (encodes(direction) ? encode_ : decode_)->setChecked(true);
  }
  const QString device = QString::fromLatin1(name_of(workspace_.question().request.device));
  if (device != device_shown_) {
    device_shown_ = device;
    device_->setCurrentIndex(device_->findData(device));
  }
  const QString model = QString::fromStdString(workspace_.question().request.model);
  if (model == model_shown_) return;
  model_shown_ = model;
  model_->setEditText(model);
}

RunRequest RunForm::request() const {
  RunRequest request;
  request.kind = kind();
  request.model = model_->currentText().trimmed();
  request.random_weights = random_->isChecked();
  request.weights = weights_->text().trimmed();
  request.seed = seed_->text().trimmed();
  request.latent = latent_->text().trimmed();
  request.picture = picture_->text().trimmed();
  request.latent_scale = latent_scale_->currentData().toString();
  request.by_plan = by_plan_->isChecked();
  const auto plan = static_cast<size_t>(plan_->currentIndex());
  if (plan < plans_.size()) request.plan = QString::fromStdString(plans_[plan]->file.string());
  request.limit = limit_->text().trimmed();
  request.device = device_->currentData().toString();
  request.sizes = sizes_->text().trimmed();
  request.output = output_->text().trimmed();
  request.record_trace = trace_->isChecked();
  request.verify = verify_->isChecked();
  return request;
}

QStringList RunForm::missing() const {
  QStringList lines;
  for (const RunProblem& problem : RunCheck::problems(request()))
    lines << tr("%1: %2").arg(editors_.at(problem.field)->accessibleName(), problem.text);
  return lines;
}

bool RunForm::check() {
  for (const auto& [field, note] : notes_) note->say({});
  const std::vector<RunProblem> problems = RunCheck::problems(request());
  for (const RunProblem& problem : problems) notes_.at(problem.field)->say(problem.text);
  if (problems.empty()) return true;
  editors_.at(problems.front().field)->setFocus();
  return false;
}

}  // namespace headroom::gui
