"""The addresses of the API. They end without a slash."""

from django.urls import path

from annotation.api import tasks
from annotation.api.requests import for_workers

urlpatterns = [
    path("tasks", for_workers(tasks.list_tasks), name="api_tasks"),
    path("tasks/next", for_workers(tasks.take_task), name="api_next"),
    path("tasks/test", for_workers(tasks.begin_worker_test), name="api_test"),
    path("tasks/answers", for_workers(tasks.list_recent_answers), name="api_recent_answers"),
    path("campaigns/<slug:name>/consent", for_workers(tasks.show_consent, tasks.agree), name="api_consent"),
    path("spelling", for_workers(tasks.look_up_words), name="api_spelling"),
    path("assignments/<int:assignment>/answer", for_workers(tasks.answer_task), name="api_answer"),
    path("assignments/<int:assignment>/change", for_workers(tasks.change_recent_answer), name="api_change"),
    path("assignments/<int:assignment>/return", for_workers(tasks.give_back), name="api_return"),
    path("assignments/<int:assignment>/heartbeat", for_workers(tasks.renew_task), name="api_heartbeat"),
]
