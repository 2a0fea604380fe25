"""The addresses of the API. They end without a slash, whatever they are asked."""

from django.urls import path

from annotation.api import spelling, tasks

urlpatterns = [
    path("tasks", tasks.tasks_endpoint, name="api_tasks"),
    path("tasks/next", tasks.next_task_endpoint, name="api_next"),
    path("tasks/test", tasks.test_endpoint, name="api_test"),
    path("tasks/answers", tasks.recent_answers_endpoint, name="api_recent_answers"),
    path("campaigns/<slug:name>/consent", tasks.consent_endpoint, name="api_consent"),
    path("spelling", spelling.spelling_endpoint, name="api_spelling"),
    path("assignments/<int:assignment>/answer", tasks.answer_endpoint, name="api_answer"),
    path("assignments/<int:assignment>/change", tasks.change_endpoint, name="api_change"),
    path("assignments/<int:assignment>/return", tasks.give_back_endpoint, name="api_return"),
    path("assignments/<int:assignment>/heartbeat", tasks.heartbeat_endpoint, name="api_heartbeat"),
]
