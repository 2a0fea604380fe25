"""All tables of evaluation as 0008 leaves them, for a fresh database; one that is older goes the way of the others."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from annotation.migrations._by_hand import CreateModels


class Migration(migrations.Migration):

    replaces = [
        ('evaluation', '0001_initial'),
        ('evaluation', '0002_qrels_by_protocol'),
        ('evaluation', '0003_batch'),
        ('evaluation', '0004_system'),
        ('evaluation', '0005_report'),
        ('evaluation', '0006_waves'),
        ('evaluation', '0007_counted_by_name'),
        ('evaluation', '0008_imported_qrels_and_scales'),
    ]

    initial = True

    dependencies = [
        ('annotation', '0021_what_layers_show'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='JudgmentSet',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.SlugField(max_length=100)),
                    ('format', models.CharField(max_length=40)),
                    ('source', models.TextField(help_text='Where it was read from')),
                    ('digest', models.CharField(blank=True, help_text='SHA-256 over all pairs read', max_length=64)),
                    ('pair_count', models.PositiveIntegerField(default=0)),
                    ('answer_count', models.PositiveIntegerField(default=0)),
                    ('published', models.BooleanField(default=False)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('corpus', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judgment_sets', to='annotation.corpus')),
                    ('counted', models.JSONField(blank=True, default=dict, help_text='By batch, whose answers from before they were reinstated count, asked for by name')),
                    ('scale', models.CharField(blank=True, help_text='votes, or the least and the greatest grade', max_length=40)),
                    ('skipped', models.PositiveIntegerField(default=0, help_text='Pairs of the file that the corpus lacks')),
                ],
                options={
                    'ordering': ['name'],
                    'constraints': [models.UniqueConstraint(fields=('corpus', 'name'), name='judgment_set_name_once_per_corpus')],
                },
            ),
            migrations.CreateModel(
                name='PairAnswers',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField(help_text='Order in the source, from 0')),
                    ('keyword', models.CharField(blank=True, max_length=200)),
                    ('grades', models.JSONField()),
                    ('judges', models.JSONField(blank=True, default=list)),
                    ('caption', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.caption')),
                    ('image', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.image')),
                    ('judgments', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pairs', to='evaluation.judgmentset')),
                ],
                options={
                    'verbose_name_plural': 'pair answers',
                    'constraints': [models.UniqueConstraint(fields=('judgments', 'position'), name='pair_position_once_per_set'), models.UniqueConstraint(condition=models.Q(('image__isnull', False)), fields=('judgments', 'image', 'caption'), name='image_pair_once_per_set'), models.UniqueConstraint(condition=models.Q(('image__isnull', True)), fields=('judgments', 'keyword', 'caption'), name='keyword_pair_once_per_set'), models.CheckConstraint(condition=models.Q(models.Q(('image__isnull', False), ('keyword', '')), models.Q(('image__isnull', True), models.Q(('keyword', ''), _negated=True)), _connector='OR'), name='pair_asks_of_image_or_keyword')],
                },
            ),
            migrations.CreateModel(
                name='QrelsSnapshot',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.SlugField(max_length=100)),
                    ('version', models.PositiveIntegerField()),
                    ('rule', models.CharField(max_length=100)),
                    ('originals', models.BooleanField(help_text='Whether originals are relevant unjudged')),
                    ('digest', models.CharField(max_length=64)),
                    ('row_count', models.PositiveIntegerField()),
                    ('published', models.BooleanField(default=False)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('corpus', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='qrels', to='annotation.corpus')),
                    ('judgments', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='qrels', to='evaluation.judgmentset')),
                    ('pool', models.CharField(blank=True, help_text='The protocol and its split; empty where judgments were frozen', max_length=200)),
                    ('asks', models.CharField(blank=True, choices=[('image', 'image'), ('caption', 'caption')], help_text='Empty: both', max_length=10)),
                    ('images', models.JSONField(blank=True, default=list, help_text='The ids of these images')),
                    ('source', models.TextField(blank=True, help_text='The file that they were imported from')),
                    ('source_digest', models.CharField(blank=True, help_text='SHA-256 of that file', max_length=64)),
                    ('subset', models.CharField(blank=True, help_text='Which images judgments were frozen for; empty: all', max_length=200)),
                ],
                options={
                    'verbose_name_plural': 'qrels snapshots',
                    'ordering': ['name', 'version'],
                    'constraints': [models.UniqueConstraint(fields=('name', 'version'), name='qrels_version_once_per_name'), models.CheckConstraint(condition=models.Q(('version__gte', 1)), name='qrels_versions_from_one'), models.CheckConstraint(condition=models.Q(models.Q(('judgments__isnull', False), ('pool', ''), ('source', '')), models.Q(('judgments__isnull', True), ('source', ''), models.Q(('pool', ''), _negated=True)), models.Q(('judgments__isnull', True), ('pool', ''), models.Q(('source', ''), _negated=True)), _connector='OR'), name='qrels_from_judgments_protocol_or_file')],
                },
            ),
            migrations.CreateModel(
                name='QrelsRow',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('keyword', models.CharField(blank=True, max_length=200)),
                    ('relevance', models.PositiveSmallIntegerField()),
                    ('judged', models.BooleanField()),
                    ('caption', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.caption')),
                    ('image', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.image')),
                    ('snapshot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='evaluation.qrelssnapshot')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('image__isnull', False)), fields=('snapshot', 'image', 'caption'), name='image_pair_once_per_snapshot'), models.UniqueConstraint(condition=models.Q(('image__isnull', True)), fields=('snapshot', 'keyword', 'caption'), name='keyword_pair_once_per_snapshot'), models.CheckConstraint(condition=models.Q(models.Q(('image__isnull', False), ('keyword', '')), models.Q(('image__isnull', True), models.Q(('keyword', ''), _negated=True)), _connector='OR'), name='qrel_asks_of_image_or_keyword')],
                },
            ),
            migrations.CreateModel(
                name='System',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.SlugField(max_length=100, unique=True)),
                    ('origin', models.CharField(max_length=40)),
                    ('recipe', models.CharField(blank=True, help_text='By which it was trained', max_length=100)),
                    ('settings', models.JSONField(blank=True, default=dict)),
                    ('seed', models.PositiveBigIntegerField(blank=True, null=True)),
                    ('sources', models.JSONField(blank=True, default=dict)),
                    ('versions', models.JSONField(blank=True, default=dict)),
                    ('digest', models.CharField(blank=True, max_length=64)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('corpus', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='systems', to='annotation.corpus')),
                    ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('job', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation.job')),
                ],
                options={
                    'ordering': ['name'],
                },
            ),
            migrations.CreateModel(
                name='Run',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.SlugField(max_length=100, unique=True)),
                    ('direction', models.CharField(help_text='annotation: images ask; search: captions ask', max_length=20)),
                    ('system', models.CharField(blank=True, help_text='The tag by which its maker calls it', max_length=200)),
                    ('format', models.CharField(max_length=40)),
                    ('source', models.TextField(help_text='Where it was read from')),
                    ('source_digest', models.CharField(blank=True, max_length=64)),
                    ('digest', models.CharField(blank=True, max_length=64)),
                    ('depth', models.PositiveIntegerField(default=0)),
                    ('query_count', models.PositiveIntegerField(default=0)),
                    ('entry_count', models.PositiveBigIntegerField(default=0)),
                    ('published', models.BooleanField(default=False)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('corpus', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='annotation.corpus')),
                    ('protocol', models.CharField(blank=True, max_length=40)),
                    ('seed', models.PositiveBigIntegerField(blank=True, null=True)),
                    ('split', models.TextField(blank=True)),
                    ('system_digest', models.CharField(blank=True, max_length=64)),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='evaluation.system')),
                ],
                options={
                    'ordering': ['name'],
                },
            ),
            migrations.CreateModel(
                name='Ranking',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField(help_text='Order in the source, from 0')),
                    ('items', models.BinaryField()),
                    ('scores', models.BinaryField()),
                    ('caption', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.caption')),
                    ('image', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.image')),
                    ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rankings', to='evaluation.run')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('run', 'position'), name='ranking_position_once_per_run'), models.UniqueConstraint(condition=models.Q(('image__isnull', False)), fields=('run', 'image'), name='image_asks_once_per_run'), models.UniqueConstraint(condition=models.Q(('caption__isnull', False)), fields=('run', 'caption'), name='caption_asks_once_per_run'), models.CheckConstraint(condition=models.Q(models.Q(('caption__isnull', True), ('image__isnull', False)), models.Q(('caption__isnull', False), ('image__isnull', True)), _connector='OR'), name='ranking_asks_of_image_or_caption')],
                },
            ),
            migrations.CreateModel(
                name='Batch',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.SlugField(max_length=100, unique=True)),
                    ('depth', models.PositiveIntegerField(help_text='How many items of each ranking were pooled')),
                    ('threshold', models.FloatField(help_text='Of BLEU_pre; none: nothing was filtered out', null=True)),
                    ('judges', models.PositiveSmallIntegerField(help_text='How many answers a pair wants')),
                    ('seed', models.PositiveIntegerField()),
                    ('reused', models.JSONField(blank=True, default=list)),
                    ('digest', models.CharField(max_length=64)),
                    ('numbers', models.JSONField(default=dict)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='batch', to='annotation.campaign')),
                    ('corpus', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='annotation.corpus')),
                    ('judgments', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='evaluation.judgmentset')),
                    ('strategy', models.CharField(blank=True, help_text='How the next wave is chosen; empty: everything is asked at once', max_length=40)),
                    ('waves', models.JSONField(blank=True, default=dict, help_text='What was asked in waves, and why there are no more')),
                ],
                options={
                    'verbose_name_plural': 'batches',
                    'ordering': ['pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('depth__gte', 1)), name='batch_pools_something'), models.CheckConstraint(condition=models.Q(('judges__gte', 1)), name='batch_has_judges')],
                },
            ),
            migrations.CreateModel(
                name='BatchRun',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField(help_text='Order in which it was named, from 0')),
                    ('digest', models.CharField(max_length=64)),
                    ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='evaluation.batch')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='evaluation.run')),
                ],
                options={
                    'ordering': ['batch', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('batch', 'run'), name='run_once_per_batch'), models.UniqueConstraint(fields=('batch', 'position'), name='batch_run_position_once')],
                },
            ),
            migrations.CreateModel(
                name='Report',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.SlugField(max_length=100, unique=True)),
                    ('inputs', models.JSONField()),
                    ('digest', models.CharField(max_length=64)),
                    ('files', models.JSONField()),
                    ('built_at', models.DateTimeField(auto_now=True)),
                    ('batch', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='evaluation.batch')),
                    ('corpus', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='annotation.corpus')),
                    ('qrels', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='evaluation.qrelssnapshot')),
                ],
                options={
                    'ordering': ['name'],
                },
            ),
            migrations.CreateModel(
                name='ReportRun',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField(help_text='Order in which it was named, from 0')),
                    ('digest', models.CharField(max_length=64)),
                    ('report', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='evaluation.report')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='evaluation.run')),
                ],
                options={
                    'ordering': ['report', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('report', 'run'), name='run_once_per_report'), models.UniqueConstraint(fields=('report', 'position'), name='report_run_position_once')],
                },
            ),
        ]),
    ]
